"""Runs on servers of every kind that already run, on what they refuse, and etcd with certificates."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.engines.local_etcd import SOURCE
from harness.engines.server_programs import find
from harness.network.ports import free_addresses
from tests.support.attached_servers import (
    BUCKET,
    PASSWORD,
    REDIS_PLAIN,
    REDIS_TLS,
    ZOOKEEPER_TLS,
    Certified,
    certified_servers,
)
from tests.support.certificates import Certificates, certified
from tests.support.challenged import run_until_challenged
from tests.support.command import refused, run_target, run_words
from tests.support.selection import nightly
from tests.support.target_files import SUPERSEDED, target_text
from tests.support.waiting import wait_for

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
    if kind == "mariadb":
        return LOGIN | {
            "kind": kind,
            "fencing": "conditional-update",
            "servers": [servers.mariadb.address(3306)],
        }
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
    ("lock", "storage"),
    [("zookeeper", "postgres"), *nightly(("redis", "dynamodb"), ("redis", "mariadb"), ("s3", "s3"))],
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


@pytest.mark.nightly
@pytest.mark.parametrize("with_tls", [True, False])
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


@pytest.mark.parametrize("kind", ["postgres", *nightly("mariadb", "zookeeper", "redlock", "dynamodb")])
def test_a_missing_or_wrong_certificate_is_refused(servers: Certified, tmp_path: Path, kind: str) -> None:
    made = servers.certificates
    for ca_file, said in (
        (made.authority, "must show a certificate" if kind == "mariadb" else "client certificate"),
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
        ("storage", "postgres", "weak", "GRANT CONNECT, CREATE ON DATABASE"),
        *nightly(
            ("storage", "mariadb", "weak", "GRANT ALL ON `fencepost\\_%`.* TO"),
            ("lock", "redlock", "partial", "ACL SETUSER USER ~fencepost* +@all"),
            ("storage", "redis", "half", "ACL SETUSER USER ~fencepost* +@all"),
        ),
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


def target(at: str, folder: str = "") -> str:
    lock = f'kind = "etcd"\nservers = ["{at}"]\nca_file = "ca.pem"'
    files = f'cert_file = "{folder}server.pem"\nkey_file = "{folder}server.key"'
    return target_text(
        SUPERSEDED, lock=f"{lock}\n{files}", storage='kind = "sqlite"\nfencing = "conditional-update"'
    )


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    (tmp_path / "other").mkdir()
    certified(tmp_path / "other")
    return certified(tmp_path)


@pytest.fixture
def etcd(local_engine: Engine, certificates: Certificates, tmp_path: Path) -> Iterator[str]:
    """The address of an etcd that was started by hand."""
    assert local_engine.name == "local"
    clients, peers = free_addresses(2)
    program = find(SOURCE).path
    command = [
        program,
        f"--data-dir={tmp_path / 'data'}",
        f"--listen-client-urls=https://{clients}",
        f"--advertise-client-urls=https://{clients}",
        f"--listen-peer-urls=http://{peers}",
        f"--initial-advertise-peer-urls=http://{peers}",
        f"--initial-cluster=default=http://{peers}",
        f"--cert-file={certificates.certificate}",
        f"--key-file={certificates.key}",
        f"--trusted-ca-file={certificates.authority}",
        "--client-cert-auth",
    ]
    with (
        (tmp_path / "etcd.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            assert wait_for(lambda: b"ready to serve client requests" in (tmp_path / "etcd.log").read_bytes())
            yield str(clients)
        finally:
            process.kill()


@pytest.mark.nightly
def test_etcds_that_demand_certificates_work(etcd: str, certificates: Certificates, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(target(etcd))

    def run(duration: str) -> Any:
        return run_target(tmp_path, "t.toml", duration, engine="local")

    done = run_until_challenged(run, seconds=6)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["coverage"]["stale_writes_rejected"] >= 1
    secret = certificates.key.read_text().splitlines()[1]
    for file in (tmp_path / "runs").rglob("*"):
        assert not file.is_file() or secret not in file.read_text(errors="replace"), file


def test_a_certificate_of_another_authority_is_a_wrong_configuration(etcd: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(target(etcd, "other/"))

    done = run_target(tmp_path, "t.toml", "workload.duration=6s", engine="local")

    assert done.returncode == 4, done.stderr
    assert "the certificate of lock.cert_file" in done.stderr
    assert not (tmp_path / "runs").exists()
