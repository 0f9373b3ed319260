"""Runs on servers of every kind that already run, and on what they refuse; etcd's are in test_attached_runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from tests.support.attached_servers import (
    BUCKET,
    PASSWORD,
    REDIS_PLAIN,
    REDIS_TLS,
    ZOOKEEPER_TLS,
    Certified,
    certified_servers,
)
from tests.support.certificates import certified
from tests.support.challenged import run_until_challenged
from tests.support.command import refused, run_target, run_words
from tests.support.selection import nightly

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PAUSE = """
[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"
"""
SQLITE = {"kind": "sqlite", "fencing": "conditional-update"}
LOGIN = {"user": "tester", "password_env": "SERVERS_PASSWORD"}

Section = Mapping[str, Any]


@pytest.fixture(scope="module")
def servers(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certified]:
    assert docker_engine.name == "docker"
    folder = tmp_path_factory.mktemp("servers")
    (folder / "other").mkdir()
    certified(folder / "other")
    with certified_servers(folder) as running:
        yield running


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVERS_PASSWORD", PASSWORD)


def side_of(servers: Certified, kind: str) -> dict[str, Any]:
    """A section of a target with that kind, without certificates."""
    if kind == "zookeeper":
        return {"kind": kind, "servers": [servers.zookeeper.address(ZOOKEEPER_TLS)]}
    if kind == "redis":
        return LOGIN | {"kind": kind, "servers": [servers.redis.address(REDIS_TLS[0])]}
    if kind == "redlock":
        at = [servers.redis.address(port) for port in REDIS_TLS]
        return LOGIN | {"kind": kind, "token": "highest-counter", "servers": at}
    if kind == "postgres":
        at = [servers.postgres.address(5432)]
        return LOGIN | {"kind": kind, "fencing": "conditional-update", "servers": at, "database": "mutual"}
    if kind == "s3":
        return LOGIN | {"kind": kind, "servers": [servers.s3_over_tls], "bucket": BUCKET}
    at = [servers.dynamodb_over_tls]
    return LOGIN | {"kind": kind, "fencing": "conditional-expression", "servers": at}


def certificates_of(servers: Certified) -> dict[str, str]:
    made = servers.certificates
    return {"ca_file": str(made.authority), "cert_file": str(made.certificate), "key_file": str(made.key)}


def write(folder: Path, lock: Section, storage: Section, **more: Any) -> str:
    """Write a target, and return its name."""
    top = {"name": "certified", "expect": "valid"} | more
    sections = (("", top), ("[lock]", lock), ("[storage]", storage))
    lines = [
        line
        for name, keys in sections
        for line in (name, *(f"{key} = {json.dumps(keys[key])}" for key in keys))
    ]
    (folder / "t.toml").write_text("\n".join(lines) + "\n" + PAUSE)
    return "t.toml"


@pytest.mark.parametrize(
    ("lock", "storage"), [("zookeeper", "postgres"), *nightly(("redis", "dynamodb"), ("s3", "s3"))]
)
def test_fenced_servers_that_demand_certificates_hold_and_nothing_stays(
    servers: Certified, tmp_path: Path, lock: str, storage: str
) -> None:
    files, before = certificates_of(servers), servers.left()
    fenced = {"fencing": "if-match"} | side_of(servers, storage)  # unless it names its own
    name = write(tmp_path, side_of(servers, lock) | files, fenced | files)

    done = run_until_challenged(lambda duration: run_target(tmp_path, name, duration), seconds=6)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["coverage"]["stale_writes_rejected"] >= 1
    assert servers.left() == before == ["information_schema", "public", "zookeeper"]


@pytest.mark.parametrize("with_tls", [True, *nightly(False)])
def test_redlock_is_caught_and_nothing_stays(servers: Certified, tmp_path: Path, with_tls: bool) -> None:
    lock, storage = side_of(servers, "redlock"), side_of(servers, "redis") | {"fencing": "none"}
    if with_tls:
        lock |= certificates_of(servers)
        storage |= certificates_of(servers)
    else:
        lock = {key: lock[key] for key in ("kind", "token")}
        lock["servers"] = [servers.redis.address(port) for port in REDIS_PLAIN]
        storage["servers"] = lock["servers"][:1]
    name = write(tmp_path, lock, storage, expect=["stale-write"], may=["duplicate-token", "token-regression"])
    before = servers.left()

    done = run_until_challenged(lambda duration: run_target(tmp_path, name, duration), seconds=6)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["anomalies"]["stale-write"] >= 1
    assert servers.left() == before


@pytest.mark.parametrize("kind", ["zookeeper", "redlock", "postgres", "dynamodb"])
def test_a_missing_or_wrong_certificate_is_refused(servers: Certified, tmp_path: Path, kind: str) -> None:
    made = servers.certificates
    for ca_file, said in (
        (made.authority, "client certificate"),
        (made.authority.parent / "other" / "ca.pem", "shows a certificate that is not accepted: "),
    ):
        given = side_of(servers, kind) | {"ca_file": str(ca_file)}
        side = "lock" if kind in ("zookeeper", "redlock") else "storage"
        lock = given if side == "lock" else {"kind": "redis"}
        name = write(tmp_path, lock, SQLITE if side == "lock" else given)

        done = refused(tmp_path, *run_words(name))

        assert done.returncode == 4, done.stderr
        (sentence,) = (line for line in done.stderr.splitlines() if f"{side}.servers" in line)
        assert f"{side}.servers: {given['servers'][0]}" in sentence
        assert said in sentence


@pytest.mark.parametrize(
    ("side", "kind", "user", "remedy"),
    [
        ("lock", "redlock", "partial", "ACL SETUSER USER ~fencepost* +@all"),
        ("storage", "redis", "half", "ACL SETUSER USER ~fencepost* +@all"),
        ("storage", "postgres", "weak", "GRANT CONNECT, CREATE ON DATABASE"),
    ],
)
def test_a_missing_right_is_a_wrong_configuration_with_its_remedy(
    servers: Certified, tmp_path: Path, side: str, kind: str, user: str, remedy: str
) -> None:
    given = side_of(servers, kind) | certificates_of(servers) | {"user": user}
    tester = side_of(servers, "redis") | certificates_of(servers)
    before = servers.left()
    name = write(
        tmp_path,
        given if side == "lock" else tester,
        SQLITE if side == "lock" else {"fencing": "script"} | given,
    )

    done = run_target(tmp_path, name)

    assert done.returncode == 4, done.stderr
    assert f"{side}.servers: {given['servers'][-1]} " in done.stderr
    assert f"; {side}.user " in done.stderr
    assert remedy in done.stderr
    assert servers.left() == before
