"""etcd and PostgreSQL started by hand, with passwords and TLS, as a user's servers that already run."""

from __future__ import annotations

import io
import secrets
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines.built_images import our_image
from harness.engines.docker_api import connect
from harness.engines.docker_images import provide_before_any_run
from tests.support.certificates import Certificates, certified
from tests.support.waiting import wait_for

PASSWORD = 'it\'s "secret"'  # noqa: S105 - of servers that live as long as a test
ROOT = ("etcdctl", "--cacert=/tls/ca.pem", "--endpoints=https://127.0.0.1:2379")
ACCESS = """\
hostssl all all all scram-sha-256
local all all trust
"""


@dataclass(frozen=True, slots=True)
class Running:
    """One server in a container."""

    container: Any

    @property
    def name(self) -> str:
        return str(self.container.name)

    def address(self, port: int) -> str:
        """Where a port is published; Docker knows it once the container has started."""

        def published() -> Any:
            self.container.reload()
            return self.container.ports.get(f"{port}/tcp")

        return f"127.0.0.1:{wait_for(published)[0]['HostPort']}"

    def says(self, *command: str) -> str:
        """The output of a command in the container, which must succeed."""
        code, output = self.container.exec_run(command)
        assert code == 0, output.decode()
        return str(output.decode())

    def succeeds(self, *command: str) -> bool:
        return bool(self.container.exec_run(command)[0] == 0)


@dataclass(frozen=True, slots=True)
class Attached:
    """Both servers, and the authority of their certificates."""

    etcd: Running
    postgres: Running
    ca_file: Path

    def left(self) -> tuple[list[str], list[str]]:
        """The keys of etcd, and the schemas of the database."""
        root = (*ROOT, f"--user=root:{PASSWORD}")
        keys = self.etcd.says(*root, "get", "", "--prefix", "--keys-only").split()
        asked = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1"
        return keys, self.postgres.says("psql", "-Ufencepost", "-Atc", asked, "app").split()


@contextmanager
def attached_servers(folder: Path) -> Iterator[Attached]:
    """Start both; in etcd the user `tester` may only touch keys that begin with `fencepost`."""
    images = {name: our_image(name) for name in ("etcd", "postgres")}
    provide_before_any_run(images.values(), print)
    certificates = certified(folder)
    with (
        closing(connect()) as client,
        _running(client, images["etcd"], 2379, certificates, _etcd()) as etcd,
        _running(client, images["postgres"], 5432, certificates, _postgres()) as postgres,
    ):
        _set_up_etcd(etcd)
        _set_up_postgres(postgres)
        yield Attached(etcd, postgres, certificates.authority)


@contextmanager
def _running(
    client: Any, image: str, port: int, certificates: Certificates, command: Sequence[str]
) -> Iterator[Running]:
    container = client.containers.create(
        image,
        command,
        name=f"by-hand-{secrets.token_hex(4)}",
        ports={f"{port}/tcp": ("127.0.0.1", None)},
    )
    try:
        owner = int(client.containers.run(image, ["id", "-u"], remove=True))
        files = {
            "ca.pem": certificates.authority.read_bytes(),
            "server.pem": certificates.certificate.read_bytes(),
            "server.key": certificates.key.read_bytes(),
            "access": ACCESS.encode(),
        }
        container.put_archive("/", _archive(files, owner))
        container.start()
        yield Running(container)
    finally:
        container.remove(force=True, v=True)


def _archive(files: Mapping[str, bytes], owner: int) -> bytes:
    """A tar archive of the folder `tls`, which only one user may read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"tls/{name}")
            member.size, member.uid, member.mode, member.mtime = len(content), owner, 0o600, int(time.time())
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _etcd() -> list[str]:
    return [
        "etcd",
        "--listen-client-urls=https://0.0.0.0:2379",
        "--advertise-client-urls=https://127.0.0.1:2379",
        "--cert-file=/tls/server.pem",
        "--key-file=/tls/server.key",
    ]


def _postgres() -> list[str]:
    settings = {"ssl": "on", "ssl_cert_file": "/tls/server.pem", "ssl_key_file": "/tls/server.key"}
    settings |= {"hba_file": "/tls/access"}
    return ["postgres", *(f"--{name}={value}" for name, value in settings.items())]


def _set_up_etcd(etcd: Running) -> None:
    assert wait_for(lambda: etcd.succeeds(*ROOT, "endpoint", "health"))
    for command in (
        ("user", "add", f"root:{PASSWORD}"),
        ("user", "grant-role", "root", "root"),
        ("user", "add", f"tester:{PASSWORD}"),
        ("role", "add", "fencepost"),
        ("role", "grant-permission", "fencepost", "readwrite", "fencepost", "--prefix"),
        ("user", "grant-role", "tester", "fencepost"),
        ("put", "of-the-user", "1"),
        ("auth", "enable"),
    ):
        etcd.says(*ROOT, *command)


def _set_up_postgres(postgres: Running) -> None:
    def ask(statement: str) -> tuple[str, ...]:
        return ("psql", "-Ufencepost", "-c", statement, "postgres")

    assert wait_for(lambda: postgres.succeeds(*ask("SELECT 1")))
    escaped = PASSWORD.replace("'", "''")
    postgres.says(*ask(f"CREATE ROLE tester LOGIN PASSWORD '{escaped}'"))
    postgres.says(*ask("CREATE DATABASE app OWNER tester"))
