"""Servers started by hand, with passwords, TLS and client certificates, as a user's that already run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from kazoo.client import KazooClient

from harness.network.systems import SYSTEMS
from harness.network.topology import Address
from tests.support.by_hand import Running, running
from tests.support.certificates import Certificates, certified, terminated
from tests.support.waiting import wait_for
from workloads.settings import host_and_port

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
    """The schemas of a database but for `pg_…`; there are some, and Docker may lose what a command says."""
    asked = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1"
    found: list[str] = wait_for(lambda: postgres.says("psql", "-Ufencepost", "-Atc", asked, database).split())
    return found


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


OF_RUNS = r"SHOW DATABASES LIKE 'fencepost\_%'"
MARIADB = (
    "mariadbd",
    "--bind-address=0.0.0.0",
    "--ssl-ca=/tls/ca.pem",
    "--ssl-cert=/tls/server.pem",
    "--ssl-key=/tls/server.key",
)


def set_up_mariadb(mariadb: Running) -> None:
    """Make the users `tester` and `weak`, who must show a certificate; only one has the rights of a run."""

    def ask(statement: str) -> tuple[str, ...]:
        return ("mariadb", "--skip-ssl", "-ufencepost", "-pfencepost", "-e", statement)

    assert wait_for(lambda: mariadb.succeeds(*ask("SELECT 1")))
    escaped = PASSWORD.replace("'", "''")
    for user in ("tester", "weak"):
        mariadb.says(*ask(f"CREATE USER {user} IDENTIFIED BY '{escaped}' REQUIRE X509"))
    mariadb.says(*ask(r"GRANT ALL ON `fencepost\_%`.* TO tester"))


REDIS_PLAIN = tuple(range(6371, 6376))
REDIS_TLS = tuple(range(6381, 6386))
START_REDIS = """
tls="--tls-cert-file /tls/server.pem --tls-key-file /tls/server.key --tls-ca-cert-file /tls/ca.pem"
for number in 1 2 3 4 5; do
    redis-server --port 637$number --tls-port 638$number $tls --save '' --protected-mode no &
done
wait
"""
ADD_USER = 'for port in {ports}; do redis-cli -e -p $port ACL SETUSER {user} on "$0" {rights} || exit; done'
BUCKET = "fencepost"
USERS_OF_REDIS = {
    "tester": "'~fencepost*' +@all",
    "half": "'~fencepost*' +@all -xadd -incr",  # which scripts call after they have written
    "partial": "'~fencepost*' +@all",  # on all servers but the last
}
ZOOKEEPER_PLAIN, ZOOKEEPER_TLS = 2181, 2281
ZOOKEEPER = (
    f"secureClientPort={ZOOKEEPER_TLS}",
    "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
    "ssl.keyStore.location=/tls/both.pem",
    "ssl.trustStore.location=/tls/ca.pem",
)


@dataclass(frozen=True, slots=True)
class Certified:
    """The servers, and the certificates that they accept."""

    redis: Running
    zookeeper: Running
    postgres: Running
    mariadb: Running
    dynamodb: Running
    dynamodb_over_tls: str  # its address
    s3: Running
    s3_over_tls: str
    certificates: Certificates

    def left(self) -> list[str]:
        """Everything in the servers that is not their own."""
        keys = (self.redis.says("redis-cli", "-p", str(port), "KEYS", "*").strip() for port in REDIS_PLAIN)
        tables = aws_client("dynamodb", self.dynamodb.address(8000)).list_tables()["TableNames"]
        objects = aws_client("s3", self.s3.address(9000)).list_object_versions(Bucket=BUCKET)
        return [
            *filter(None, keys),
            *tables,
            *(each["Key"] for each in objects.get("Versions", ())),
            *self.mariadb.says("mariadb", "-ufencepost", "-pfencepost", "-Ne", OF_RUNS).split(),
            *schemas(self.postgres, "mutual"),
            *_znodes(self.zookeeper.address(ZOOKEEPER_PLAIN)),
        ]


def _znodes(at: str) -> list[str]:
    client = KazooClient(hosts=at)
    client.start()
    try:
        return list(client.get_children("/"))
    finally:
        client.stop()
        client.close()


@contextmanager
def certified_servers(folder: Path) -> Iterator[Certified]:
    """Start them all, and make their users."""
    certificates = certified(folder)
    files = tls_files(certificates)
    files["both.pem"] = files["server.pem"] + files["server.key"]
    with ExitStack() as stack:
        zookeeper = stack.enter_context(
            running(
                "zookeeper",
                ZOOKEEPER_PLAIN,
                ZOOKEEPER_TLS,
                files=files,
                environment={"ZOO_CFG_EXTRA": " ".join(ZOOKEEPER), "ZOO_TICK_TIME": "200"},
            )
        )
        dynamodb = stack.enter_context(running("dynamodb", 8000))
        s3 = stack.enter_context(running("s3", 9000))
        postgres = stack.enter_context(running("postgres", 5432, files=files, command=POSTGRES))
        mariadb = stack.enter_context(running("mariadb", 3306, files=files, command=MARIADB))
        redis = stack.enter_context(
            running("redis", *REDIS_PLAIN, *REDIS_TLS, files=files, command=["sh", "-c", START_REDIS])
        )
        over_tls, s3_over_tls = (
            stack.enter_context(terminated(at, certificates))
            for at in (dynamodb.address(8000), s3.address(9000))
        )
        set_up_postgres(postgres)
        set_up_mariadb(mariadb)
        _set_up_redis(redis)
        for system, at in (
            ("zookeeper", zookeeper.address(ZOOKEEPER_PLAIN)),
            ("dynamodb", dynamodb.address(8000)),
            ("s3", s3.address(9000)),
        ):
            assert wait_for(partial(SYSTEMS[system].is_usable, Address(*host_and_port(at))))
        aws_client("s3", s3.address(9000)).put_bucket_versioning(
            Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"}
        )
        yield Certified(
            redis, zookeeper, postgres, mariadb, dynamodb, over_tls, s3, s3_over_tls, certificates
        )


def _set_up_redis(redis: Running) -> None:
    ports = " ".join(map(str, REDIS_PLAIN))
    for user, rights in USERS_OF_REDIS.items():
        command = ADD_USER.format(ports=ports, user=user, rights=rights)
        assert wait_for(lambda: redis.succeeds("sh", "-c", command, f">{PASSWORD}"))  # noqa: B023 - called at once
    redis.says("redis-cli", "-e", "-p", str(REDIS_PLAIN[-1]), "ACL", "SETUSER", "partial", "resetkeys")


def aws_client(service: str, at: str) -> Any:
    """Make a client of a server at host:port."""
    return boto3.client(
        service,
        endpoint_url=f"http://{at}",
        region_name="us-east-1",
        aws_access_key_id="tester",
        aws_secret_access_key=PASSWORD,
    )
