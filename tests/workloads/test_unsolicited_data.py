"""Redis and PostgreSQL answers that arrive before their request, on real servers behind a tap."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.topology import ServerSpec
from tests.support.systems import Endpoint, redis_at, started, storage_settings
from workloads import redis_connection
from workloads.client import NotApplied
from workloads.redis_connection import RedisConnection
from workloads.sql_transaction import transaction
from workloads.storages import postgres
from workloads.storages.postgres_connection import PostgresConnection
from workloads.unsolicited_data import has_input


@contextmanager
def between(server: Any, at_once: bytes = b"") -> Iterator[Any]:
    """Yield an address that leads to a server, and a function that sends data as if from the server.

    Every client gets `at_once` first.
    """
    opened: list[Any] = []
    behind: list[Any] = []

    def say(said: Any) -> None:
        opened[-1].sendall(said)

    def copy(source: Any, sink: Any) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                opened.append(client)
                there = socket.create_connection((server.host, server.port))
                behind.append(there)
                client.sendall(at_once)
                for way in ((client, there), (there, client)):
                    threading.Thread(target=copy, args=way, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", say
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for each in opened + behind:
            each.close()


def a_row(value: bytes) -> bytes:
    """Return a complete answer of PostgreSQL: one row of one column, and ready for the next statement."""
    column = b"value\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0)
    messages = [
        (b"1", b""),
        (b"2", b""),
        (b"T", struct.pack("!h", 1) + column),
        (b"D", struct.pack("!hi", 1, len(value)) + value),
        (b"C", b"SELECT 1\0"),
        (b"Z", b"I"),
    ]
    return b"".join(kind + struct.pack("!i", 4 + len(body)) + body for kind, body in messages)


@pytest.fixture
def postgres_server(servers: Cluster) -> Any:
    return next(each for each in servers.servers if each.system == "postgres")


def wire(server: Any, endpoint: Any) -> PostgresConnection:
    return postgres.make_connection(
        storage_settings("postgres", [Endpoint(endpoint, server.address.login.password)], timeout=5)
    )


@pytest.mark.slow
def test_pending_postgres_data_is_not_the_next_answer(postgres_server: Any) -> None:
    with (
        between(postgres_server.address) as (endpoint, say),
        closing(wire(postgres_server, endpoint)) as opened,
    ):
        assert opened.execute("SELECT 'first'") == [(b"first",)]
        say(a_row(b"forged"))
        assert has_input(opened._connection.socket, 5)

        assert opened.execute("SELECT 'second'") == [(b"second",)]


def test_after_unsolicited_data_nothing_runs_outside_the_transaction(postgres_server: Any) -> None:
    with (
        between(postgres_server.address) as (endpoint, say),
        closing(wire(postgres_server, endpoint)) as opened,
    ):

        def work() -> None:
            with transaction(opened):
                opened.execute("SELECT 1")
                say(a_row(b"forged"))
                assert has_input(opened._connection.socket, 5)
                opened.execute("CREATE TABLE made_outside ()")

        with pytest.raises(NotApplied, match="sent data before any request"):
            work()

        assert opened.execute("SELECT to_regclass('made_outside') IS NULL") == [(b"t",)]


def test_a_connection_closed_by_the_server_is_reopened_before_a_statement(postgres_server: Any) -> None:
    with (
        between(postgres_server.address) as (endpoint, _),
        closing(wire(postgres_server, endpoint)) as opened,
    ):
        ((pid,),) = opened.execute("SELECT pg_backend_pid()")
        with closing(wire(postgres_server, endpoint)) as other:
            other.execute("SELECT pg_terminate_backend($1)", (int(pid),))
        assert has_input(opened._connection.socket, 5)

        assert opened.execute("SELECT 'still'") == [(b"still",)]


@pytest.fixture(scope="module")
def redis_server(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    spec = ServerSpec(name="redis-1", system="redis", cluster="lock")
    with started(local_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield cluster.servers[0]


def test_pending_redis_data_is_not_the_next_answer(redis_server: Any) -> None:
    with (
        between(redis_server.address) as (endpoint, say),
        closing(RedisConnection(endpoint, 5, redis_server.address.login.password)) as connection,
    ):
        assert connection.execute("ECHO", "first") == "first"
        say(b"+forged\r\n")
        assert has_input(connection._connection._sock.fileno(), 5)

        assert connection.execute("ECHO", "second") == "second"


@pytest.mark.slow
def test_a_redis_that_sends_data_first_gets_no_request(
    redis_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "GREETING", 5)
    with (
        between(redis_server.address, b"+forged\r\n") as (endpoint, _),
        closing(RedisConnection(endpoint, 5)) as connection,
        pytest.raises(NotApplied, match="sent data before any request"),
    ):
        connection.execute("INCR", "counted")

    with closing(redis_at(redis_server.address)) as connection:
        assert connection.execute("GET", "counted") is None
