"""etcd and PostgreSQL started by hand, with passwords and TLS, as a user's servers that already run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.by_hand import Running, running
from tests.support.certificates import Certificates, certified
from tests.support.waiting import wait_for

PASSWORD = 'it\'s "secret"'  # noqa: S105 - of servers that live as long as a test
ROOT = ("etcdctl", "--cacert=/tls/ca.pem", "--endpoints=https://127.0.0.1:2379")
ACCESS = """\
hostssl mutual all all scram-sha-256 clientcert=verify-ca
hostssl all all all scram-sha-256
local all all trust
"""
POSTGRES = (
    "postgres",
    "--ssl=on",
    "--ssl_cert_file=/tls/server.pem",
    "--ssl_key_file=/tls/server.key",
    "--ssl_ca_file=/tls/ca.pem",
    "--hba_file=/tls/access",
)


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
        return keys, schemas(self.postgres, "app")


def schemas(postgres: Running, database: str) -> list[str]:
    """The schemas of a database that are not PostgreSQL's own."""
    asked = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1"
    return postgres.says("psql", "-Ufencepost", "-Atc", asked, database).split()


@contextmanager
def attached_servers(folder: Path) -> Iterator[Attached]:
    """Start both; in etcd the user `tester` may only touch keys that begin with `fencepost`."""
    certificates = certified(folder)
    files = tls_files(certificates)
    with (
        running("etcd", 2379, files=files, command=_etcd()) as etcd,
        running("postgres", 5432, files=files, command=POSTGRES) as postgres,
    ):
        _set_up_etcd(etcd)
        set_up_postgres(postgres)
        yield Attached(etcd, postgres, certificates.authority)


def tls_files(certificates: Certificates) -> dict[str, bytes]:
    """What servers find in /tls: their certificate, its authority, and who may log in to PostgreSQL."""
    return {
        "ca.pem": certificates.authority.read_bytes(),
        "server.pem": certificates.certificate.read_bytes(),
        "server.key": certificates.key.read_bytes(),
        "access": ACCESS.encode(),
    }


def _etcd() -> list[str]:
    return [
        "etcd",
        "--listen-client-urls=https://0.0.0.0:2379",
        "--advertise-client-urls=https://127.0.0.1:2379",
        "--cert-file=/tls/server.pem",
        "--key-file=/tls/server.key",
    ]


def _set_up_etcd(etcd: Running) -> None:
    assert wait_for(lambda: etcd.succeeds(*ROOT, "endpoint", "health"))
    for command in (
        ("user", "add", f"root:{PASSWORD}"),
        ("user", "grant-role", "root", "root"),
        ("user", "add", f"tester:{PASSWORD}"),
        ("user", "add", f"weak:{PASSWORD}"),
        ("role", "add", "fencepost"),
        ("role", "grant-permission", "fencepost", "readwrite", "fencepost", "--prefix"),
        ("user", "grant-role", "tester", "fencepost"),
        ("put", "of-the-user", "1"),
        ("auth", "enable"),
    ):
        etcd.says(*ROOT, *command)


def set_up_postgres(postgres: Running) -> None:
    """Make the users `tester` and `weak`, and two databases of the tester; one demands a certificate."""

    def ask(statement: str) -> tuple[str, ...]:
        return ("psql", "-Ufencepost", "-c", statement, "postgres")

    assert wait_for(lambda: postgres.succeeds(*ask("SELECT 1")))
    escaped = PASSWORD.replace("'", "''")
    for statement in (
        *(f"CREATE ROLE {user} LOGIN PASSWORD '{escaped}'" for user in ("tester", "weak")),
        *(f"CREATE DATABASE {name} OWNER tester" for name in ("app", "mutual")),
    ):
        postgres.says(*ask(statement))
