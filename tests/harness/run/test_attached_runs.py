"""Runs on servers that already run: etcd and PostgreSQL, started by hand, with passwords and TLS."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from tests.support.attached_servers import PASSWORD, Attached, attached_servers
from tests.support.challenged import counted, run_until_challenged
from tests.support.command import fencepost, run_target

pytestmark = [pytest.mark.engine, pytest.mark.slow]

TARGET = """\
name = "attached"
expect = {expect}

[lock]
kind = "etcd"
servers = ["{etcd}"]
user = "{user}"
password_env = "{variable}"
ca_file = "{ca_file}"

[storage]
kind = "postgres"
fencing = "{fencing}"
servers = ["{postgres}"]
user = "tester"
database = "app"
password_env = "{variable}"
ca_file = "{ca_file}"

[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"
"""
CUT_OFF = """
[[faults]]
kind = "partition"
target = "client:0"
from = "both"
every = "5s"
lasts = "500ms"
"""
SCRIPT = """
[[faults]]
kind = "script"
target = "lock"
inject = ["sh", "-c", "for _ in 1 2 3 4 5; do docker pause {name} && exit; sleep 0.2; done; exit 1"]
observe = ["sh", "-c", "docker inspect --format '{{{{.State.Status}}}}' {name} | grep paused"]
heal = ["sh", "-c", "docker unpause {name} || docker inspect --format '{{{{.State.Status}}}}' {name} | grep running"]
lasts = "500ms"
"""


@pytest.fixture(scope="module")
def servers(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attached]:
    assert docker_engine.name == "docker"
    with attached_servers(tmp_path_factory.mktemp("servers")) as running:
        yield running


def target(servers: Attached, **settings: Any) -> str:
    known = {
        "expect": '"valid"',
        "fencing": "conditional-update",
        "variable": "SERVERS_PASSWORD",
        "user": "tester",
        "ca_file": servers.ca_file,
        "etcd": servers.etcd.address(2379),
        "postgres": servers.postgres.address(5432),
    }
    return TARGET.format(**known | settings)


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVERS_PASSWORD", PASSWORD)


@pytest.mark.nightly
def test_fenced_servers_hold_through_faults_and_nothing_stays(servers: Attached, tmp_path: Path) -> None:
    faults = CUT_OFF + SCRIPT.format(name=servers.etcd.name)
    (tmp_path / "t.toml").write_text(target(servers) + faults)
    before = servers.left()

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "t.toml", duration),
        seconds=12,
        was_challenged=counted("stale_writes_attempted", "partitions", "scripts"),
    )

    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["coverage"]["stale_writes_rejected"] >= 1
    assert servers.left() == before == (["of-the-user"], ["information_schema", "public"])
    folder = tmp_path / "runs/attached/latest"
    about = json.loads((folder / "environment.json").read_text())["servers"]
    assert {name: each["attached"] for name, each in about.items()} == {"etcd-1": True, "postgres": True}
    for file in folder.rglob("*"):
        assert not file.is_file() or PASSWORD not in file.read_text(errors="replace"), file


@pytest.mark.nightly
def test_unfenced_servers_are_found_and_nothing_stays(servers: Attached, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(target(servers, fencing="none", expect='["stale-write"]'))
    before = servers.left()

    done = run_until_challenged(lambda duration: run_target(tmp_path, "t.toml", duration), seconds=10)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["anomalies"]["stale-write"] >= 1
    assert servers.left() == before


def test_a_bench_keeps_to_its_limit_and_nothing_stays(servers: Attached, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(target(servers))
    before = servers.left()

    done = fencepost(tmp_path, "bench", "t.toml", "--for", "20s", "--max-rate", "100", "--engine", "local")

    assert done.returncode == 0, done.stderr
    assert re.search("at most [0-9,]+ requests, 100 a second", done.stdout)
    assert servers.left() == before
    folder = tmp_path / "benches/attached/latest"
    found = json.loads((folder / "bench.json").read_text())
    assert {each["native"] for each in found["series"]} == {None}
    for series in found["series"]:  # each of three times, a client may begin and end a hold
        sent = sum(series["latencies"].get(f, {"count": 0})["count"] for f in ("acquire", "release", "write"))
        assert 0 < sent <= 100 * 3 * found["seconds"] + 9 * series["clients"], series["key"]
    for file in folder.rglob("*"):
        assert not file.is_file() or PASSWORD not in file.read_text(errors="replace"), file


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"variable": "WRONG_PASSWORD"}, "lock.servers: "),
        ({"ca_file": "server.pem"}, "lock.ca_file"),
        ({"user": "weak"}, "; lock.user needs a role with readwrite on the prefix fencepost: "),
    ],
)
def test_a_wrong_login_or_a_missing_right_is_a_wrong_configuration(
    servers: Attached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, said: str
) -> None:
    monkeypatch.setenv("WRONG_PASSWORD", "wrong")
    (tmp_path / "t.toml").write_text(target(servers, **settings))

    done = run_target(tmp_path, "t.toml", "workload.duration=6s")

    assert done.returncode == 4, done.stderr
    assert said in done.stderr
