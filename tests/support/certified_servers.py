"""A server of each kind but etcd, started by hand, that demands a certificate of its clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kazoo.client import KazooClient

from harness.network.systems import SYSTEMS
from harness.network.topology import Address
from tests.support.attached_servers import PASSWORD, POSTGRES, schemas, set_up_postgres, tls_files
from tests.support.aws_clients import aws_client
from tests.support.by_hand import Running, running
from tests.support.certificates import Certificates, certified
from tests.support.tls_terminator import terminated
from tests.support.waiting import wait_for
from workloads.settings import host_and_port

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
        redis = stack.enter_context(
            running("redis", *REDIS_PLAIN, *REDIS_TLS, files=files, command=["sh", "-c", START_REDIS])
        )
        over_tls, s3_over_tls = (
            stack.enter_context(terminated(at, certificates))
            for at in (dynamodb.address(8000), s3.address(9000))
        )
        set_up_postgres(postgres)
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
        yield Certified(redis, zookeeper, postgres, dynamodb, over_tls, s3, s3_over_tls, certificates)


def _set_up_redis(redis: Running) -> None:
    ports = " ".join(map(str, REDIS_PLAIN))
    for user, rights in USERS_OF_REDIS.items():
        command = ADD_USER.format(ports=ports, user=user, rights=rights)
        assert wait_for(lambda: redis.succeeds("sh", "-c", command, f">{PASSWORD}"))  # noqa: B023 - called at once
    redis.says("redis-cli", "-e", "-p", str(REDIS_PLAIN[-1]), "ACL", "SETUSER", "partial", "resetkeys")
