"""Access to servers of the local engine: with the run's password, or what without one is noticed."""

import base64
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import psycopg
import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.postgres_server import LOGIN as POSTGRES_LOGIN
from harness.network.topology import Address, ServerSpec, Topology
from tests.support.held import processes_of
from tests.support.missing import need
from tests.support.other_user import ask_as
from tests.support.systems import redis_at, run_named
from workloads.client import NotApplied
from workloads.redis_connection import RedisConnection
from workloads.settings import REDIS_ADMINISTRATOR, StorageSettings
from workloads.storages import postgres

SYSTEMS = ("etcd", "postgres", "redis")


class Run(NamedTuple):
    """The servers of a run by their names, and its id."""

    addresses: dict[str, Address]
    run_id: str


@pytest.fixture(scope="module")
def run(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    specs = tuple(ServerSpec(name=system, system=system) for system in SYSTEMS)
    topology = Topology(servers=specs, clients=1, partitions=False)
    need(local_engine, topology)
    run_id = run_named("access")
    with local_engine.start(topology, run_id, tmp_path_factory.mktemp("run"), print) as cluster:
        yield Run({server.name: server.address for server in cluster.servers}, run_id)


def said_to_a_stranger(address: Address, *commands: str) -> list[str]:
    """Return Redis' answers, line by line, to a client without a login."""
    with socket.create_connection((address.host, address.port), 5) as stranger:
        stranger.sendall("".join(f"{command}\r\n" for command in commands).encode())
        with stranger.makefile("r", newline="\r\n") as answers:
            return [answers.readline() for _ in commands]


@pytest.mark.slow
def test_redis_rejects_clients_without_the_password(run: Run) -> None:
    answers = said_to_a_stranger(
        run.addresses["redis"],
        "PING",
        "CONFIG GET dir",
        "REPLICAOF NO ONE",
        "AUTH fencepost",
        "AUTH default ''",
    )

    assert [answer.split(" ")[0] for answer in answers] == ["-NOAUTH"] * 3 + ["-WRONGPASS"] * 2


@pytest.mark.parametrize(
    "command",
    [
        ("CONFIG", "SET", "dir", "/"),
        ("CONFIG", "GET", "*"),
        ("MODULE", "LOAD", "/mine.so"),
        ("DEBUG", "SLEEP", "0"),
        ("SLAVEOF", "127.0.0.1", "1"),
        ("REPLICAOF", "127.0.0.1", "1"),
        ("ACL", "LIST"),
        ("FAILOVER",),
        ("SHUTDOWN", "NOSAVE"),
        ("MIGRATE", "127.0.0.1", "1", "key", "0", "1"),
    ],
    ids=" ".join,
)
def test_redis_denies_dangerous_commands_to_its_clients(run: Run, command: tuple[str, ...]) -> None:
    connection = redis_at(run.addresses["redis"])

    with pytest.raises(NotApplied, match="has no permissions"):
        connection.execute(*command)

    assert connection.execute("PING") == "PONG"
    connection.close()


@pytest.mark.parametrize(
    "command", [("CONFIG", "GET", "dir"), ("MODULE", "LIST"), ("DEBUG", "SLEEP", "0")], ids=" ".join
)
def test_redis_denies_the_harness_commands_that_no_fault_needs(run: Run, command: tuple[str, ...]) -> None:
    at = run.addresses["redis"]
    connection = RedisConnection(str(at), 1.0, at.login.password, REDIS_ADMINISTRATOR)

    with pytest.raises(NotApplied, match="has no permissions"):
        connection.execute(*command)
    connection.close()


@pytest.mark.parametrize("password", ["", "fencepost", "postgres"])
def test_postgres_rejects_logins_without_the_password(run: Run, password: str) -> None:
    at = run.addresses["postgres"]

    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(
            f"host={at.host} port={at.port} {POSTGRES_LOGIN} passfile=/dev/null", password=password
        )


def test_each_run_has_another_password(run: Run, local_engine: Engine, tmp_path: Path) -> None:
    spec = ServerSpec(name="redis", system="redis")
    topology = Topology(servers=(spec,), clients=1, partitions=False)
    with local_engine.start(topology, run_named("another"), tmp_path, print) as cluster:
        other = cluster.servers[0].address.login.password

    passwords = {address.login.password for name, address in run.addresses.items() if name != "etcd"}
    assert len(passwords) == 1
    assert other not in passwords
    assert min(map(len, (other, *passwords))) >= 32


def test_postgres_asks_for_the_password_by_scram_alone(run: Run) -> None:
    at = run.addresses["postgres"]
    with psycopg.connect(
        f"host={at.host} port={at.port} {POSTGRES_LOGIN}", password=at.login.password
    ) as login:
        ways = login.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
        kept = login.execute("SELECT left(rolpassword, 14) FROM pg_authid WHERE rolpassword <> ''").fetchall()

    assert (ways, kept) == ([("scram-sha-256",)], [("SCRAM-SHA-256$",)])


def test_servers_listen_on_loopback_alone(run: Run) -> None:
    listening = {
        (each.name(), connection.laddr.ip)
        for each in processes_of(run.run_id)
        for connection in each.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }

    assert {address for _, address in listening} == {"127.0.0.1"}
    assert {"etcd", "postgres", "redis-server"} <= {name for name, _ in listening}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_no_server_started_by_root_runs_as_root(run: Run) -> None:
    users = {each.name(): each.uids() for each in processes_of(run.run_id)}

    assert {"etcd", "postgres", "redis-server"} <= set(users)
    assert all(0 not in uids for uids in users.values())


@pytest.mark.slow
def test_the_password_is_in_no_command_and_no_remaining_file(local_engine: Engine, tmp_path: Path) -> None:
    specs = tuple(ServerSpec(name=system, system=system) for system in SYSTEMS)
    topology = Topology(servers=specs, clients=1, partitions=False)
    run_id = run_named("secret")
    with local_engine.start(topology, run_id, tmp_path, print) as cluster:
        password = cluster.servers[1].address.login.password
        lines = [" ".join(each.cmdline()) for each in processes_of(run_id)]
        environments = [str(each.environ()) for each in processes_of(run_id)]
        shown = f"{cluster} {cluster.environment()} {cluster.logs()}"

    assert password not in " ".join([*lines, *environments])
    assert password not in shown
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert kept
    assert not [file for file in kept if password.encode() in file.read_bytes()]


def test_only_its_server_can_read_a_file_with_a_password(run: Run) -> None:
    (redis,) = (each for each in processes_of(run.run_id) if each.name() == "redis-server")

    home = Path(redis.cwd()).parent
    modes = {path.name: path.stat().st_mode & 0o777 for path in home.iterdir() if path.name != "programs"}

    assert modes == {"etcd": 0o700, "postgres": 0o700, "redis": 0o700, "redis.conf": 0o600}
    assert (home / "redis.conf").stat().st_uid == redis.uids().real


def test_shown_settings_hide_the_password(run: Run) -> None:
    at = run.addresses["postgres"]
    settings = StorageSettings(
        kind="postgres", endpoints=(str(at),), fencing="none", policy="strict", timeout=5, login=at.login
    )

    assert at.login.password not in f"{settings} {at} {at!r}"
    assert postgres.make_connection(settings).execute("SELECT 1") == [(b"1",)]


def post(path: str, fields: dict[str, Any]) -> bytes:
    """A request, after whose answer the connection ends."""
    body = json.dumps(fields)
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def answer(at: Address, method: str, path: str, fields: dict[str, Any] | None = None) -> tuple[int, bytes]:
    with closing(HTTPConnection(at.host, at.port, timeout=30)) as connection:
        connection.request(method, path, None if fields is None else json.dumps(fields))
        answered = connection.getresponse()
        return answered.status, answered.read()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.slow
def test_another_user_can_change_the_data_of_etcd(cluster: Cluster, other_user: int) -> None:
    at = next(each.address for each in cluster.servers if each.system == "etcd")
    key = encoded("of another user")

    said = ask_as(other_user, at, post("/v3/kv/put", {"key": key, "value": encoded("changed")}))

    assert said.startswith(b"HTTP/1.1 200 OK")
    _, found = answer(at, "POST", "/v3/kv/range", {"key": key})
    assert [each["value"] for each in json.loads(found)["kvs"]] == [encoded("changed")]


@pytest.mark.slow
def test_another_user_can_add_a_proxy_to_toxiproxy(local_cluster: Cluster, other_user: int) -> None:
    assert local_cluster.toxiproxy
    at = local_cluster.toxiproxy.api
    proxy = {"name": "theirs", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:1", "enabled": False}

    said = ask_as(other_user, at, post("/proxies", proxy))

    assert said.startswith(b"HTTP/1.1 201 Created")
    assert answer(at, "GET", "/proxies/theirs")[0] == 200
    assert answer(at, "DELETE", "/proxies/theirs")[0] == 204


@pytest.mark.slow
@pytest.mark.usefixtures("other_user")
def test_what_another_user_could_reach_does_not_run_as_root(local_cluster: Cluster) -> None:
    assert local_cluster.toxiproxy
    users = {each.name()[:15]: each.uids() for each in processes_of(local_cluster.toxiproxy.run_id)}

    assert any(name.startswith("toxiproxy") for name in users)
    assert "etcd" in users
    assert all(0 not in uids for uids in users.values())
