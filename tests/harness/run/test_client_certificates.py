"""A run on an etcd that already runs and demands a certificate of its clients."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.engines.local_etcd import SOURCE
from harness.engines.server_programs import find
from harness.network.ports import free_addresses
from tests.support.certificates import Certificates, certified
from tests.support.challenged import run_until_challenged
from tests.support.command import run_target
from tests.support.target_files import SUPERSEDED, target_text
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.engine, pytest.mark.slow]


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


def test_an_etcd_that_demands_certificates_works(
    etcd: str, certificates: Certificates, tmp_path: Path
) -> None:
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
