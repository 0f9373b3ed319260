"""A lock and a storage over HTTP: the contract, invalid answers, and deadlines."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from tests.support.systems import SECOND, Memory, lock_settings, storage_settings
from workloads import unsolicited_data
from workloads.client import NotApplied, Stale, Unknown
from workloads.http_connection import MAX_BODY, HttpConnection
from workloads.locks import connect
from workloads.storages import load_kind
from workloads.unsolicited_data import has_input

TIMEOUT = 0.5  # seconds


def nothing() -> None:
    """Do nothing once the request has left."""


@contextmanager
def answering(*answers: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the address of a server that answers each request with the next of these, and then is silent."""
    requests = []

    def serve(connection: Any) -> None:
        with connection, suppress(OSError):
            for answer in answers:
                if not (asked := connection.recv(65536)):
                    return
                requests.append(asked)
                for piece in [answer] if isinstance(answer, bytes) else answer:
                    connection.sendall(piece)
            connection.recv(65536)

    def accept() -> None:
        try:
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", requests
        listener.shutdown(socket.SHUT_RDWR)


def answer(content: bytes | dict[Any, Any] | list[Any], status: str = "200 OK") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def storage_at(endpoint: str) -> Any:
    return load_kind("http").connect(storage_settings("http", [endpoint], timeout=TIMEOUT))


def lock_at(endpoint: str) -> Any:
    settings = lock_settings("http", [endpoint], timeout=TIMEOUT, ttl=SECOND)
    return connect(settings, RecordedSession(Memory(), 0, 1))


class TestWhatAnAnswerMeans:
    @pytest.mark.parametrize(
        ("said", "means"),
        [
            (answer({"resource_id": "r0"}), None),
            (answer({"resource_id": "r0", "more": [1]}), None),
            (answer({"error": "stale"}, "409 Conflict"), Stale),
            (answer({"error": "no such file"}, "409 Conflict"), NotApplied),
            (answer({"resource_id": "r1"}), Unknown),
            (answer({}), Unknown),
            (answer([]), Unknown),
            (answer(b"yes"), Unknown),
            (answer(b""), Unknown),
            (answer(b'{"resource_id": "r0"', "200 OK"), Unknown),
            (answer({"reason": "stale"}, "409 Conflict"), Unknown),
            (answer(b"stale", "409 Conflict"), Unknown),
            (answer({"resource_id": "r0"}, "201 Created"), Unknown),
            (answer({"resource_id": "r0"}, "302 Found\r\nLocation: /elsewhere"), Unknown),
            (answer({"error": "stale"}, "400 Bad Request"), Unknown),
            (answer({"error": "stale"}, "500 Internal Server Error"), Unknown),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", Unknown),
            (b"what?\r\n\r\n", Unknown),
        ],
    )
    def test_only_a_valid_200_is_ok_and_only_a_409_with_a_reason_is_certain(
        self, said: bytes, means: type[Any] | None
    ) -> None:
        with answering(said) as (endpoint, requests), closing_storage(endpoint) as storage:
            ended = None
            try:
                storage.write("r0", 1, "v", nothing)
            except (NotApplied, Unknown) as error:
                ended = type(error) if isinstance(error, Stale | Unknown) else NotApplied

            assert ended is means
            assert len(requests) == 1

    @pytest.mark.parametrize(
        "lacking", ["resource_id", "lock_acquired", "lock_token", "fencing_token", "lease_duration_ms"]
    )
    def test_a_grant_with_a_missing_field_is_invalid(self, lacking: str) -> None:
        granted = grant()
        del granted[lacking]

        with (
            answering(answer(granted)) as (endpoint, _),
            closing(lock_at(endpoint)) as lock,
            pytest.raises(Unknown),
        ):
            lock.acquire("r0", "0-1")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"fencing_token": "34"},
            {"fencing_token": 34.5},
            {"fencing_token": True},
            {"fencing_token": -1},
            {"fencing_token": 2**63},
            {"lock_token": ""},
            {"lock_token": 7},
            {"lease_duration_ms": 0},
            {"lock_acquired": "yes"},
        ],
    )
    def test_a_grant_with_a_wrong_field_is_invalid(self, wrong: dict[str, Any]) -> None:
        said = answer(grant() | wrong)

        with answering(said) as (endpoint, _), closing(lock_at(endpoint)) as lock, pytest.raises(Unknown):
            lock.acquire("r0", "0-1")

    def test_a_lease_lasts_as_the_service_says_from_when_it_was_requested(self) -> None:
        called = time.monotonic_ns()
        busy = answer({"resource_id": "r0", "lock_acquired": False})
        with answering(busy, answer(grant())) as (endpoint, requests), closing(lock_at(endpoint)) as lock:
            granted = lock.acquire("r0", "0-1")

        assert (granted.token, granted.ttl) == (34, 700_000_000)
        assert called < granted.attempt < time.monotonic_ns()
        asked = json.loads(requests[0].partition(b"\r\n\r\n")[2])
        assert asked == {"resource_id": "r0", "owner": "0-1", "lease_duration_ms": 1000}

    @pytest.mark.parametrize(
        ("said", "read"),
        [
            ({"fencing_token": None, "bytes": None}, (None, 0)),
            ({"fencing_token": 0, "bytes": "dgo="}, ("v", 0)),
            ({"fencing_token": 7, "bytes": ""}, ("", 7)),
        ],
    )
    def test_a_read_returns_the_last_write_if_any(self, said: dict[str, Any], read: tuple[Any, ...]) -> None:
        with (
            answering(answer({"resource_id": "r0"} | said)) as (endpoint, _),
            closing_storage(endpoint) as storage,
        ):
            assert storage.read("r0") == read

    @pytest.mark.parametrize(
        "wrong",
        [
            {"fencing_token": 7},
            {"fencing_token": None, "bytes": "dgo="},
            {"fencing_token": 7, "bytes": None},
            {"fencing_token": 7, "bytes": "no base64"},
            {"fencing_token": 7, "bytes": "//8="},
        ],
    )
    def test_a_read_that_matches_no_write_is_invalid(self, wrong: dict[str, Any]) -> None:
        said = answer({"resource_id": "r0"} | wrong)

        with answering(said) as (endpoint, _), closing_storage(endpoint) as storage, pytest.raises(Unknown):
            storage.read("r0")

    def test_a_service_without_a_commit_order_returns_none(self) -> None:
        with answering(answer({"error": "?"}, "404 Not Found")) as (endpoint, _):
            assert load_kind("http").committed(storage_settings("http", [endpoint])) is None

    def test_a_commit_order_may_have_fences_between_the_writes(self) -> None:
        said = answer(
            {
                "commits": [
                    {"resource_id": "r0", "fencing_token": 3, "bytes": "YQo="},
                    {"resource_id": "r0", "fencing_token": 4, "fence": True},
                    {"resource_id": "r0", "fencing_token": 4, "bytes": "Ygo=", "fence": False},
                ]
            }
        )
        with answering(said) as (endpoint, _):
            commits = load_kind("http").committed(storage_settings("http", [endpoint]))

        assert [(each.token, each.value, each.fence) for each in commits] == [
            (3, "a", False),
            (4, None, True),
            (4, "b", False),
        ]

    @pytest.mark.parametrize("wrong", [{}, {"bytes": None}, {"bytes": "YQo=", "fence": True}])
    def test_a_commit_that_mixes_up_write_and_fence_is_unknown(self, wrong: dict[str, Any]) -> None:
        said = answer({"commits": [{"resource_id": "r0", "fencing_token": 3, **wrong}]})

        with answering(said) as (endpoint, _), pytest.raises(Unknown, match="a write has bytes, and a fence"):
            load_kind("http").committed(storage_settings("http", [endpoint]))

    def test_a_resource_with_data_from_before_the_run_is_refused(self) -> None:
        old = answer({"resource_id": "r0", "fencing_token": 7, "bytes": "dgo="})

        with (
            answering(old) as (endpoint, _),
            pytest.raises(NotApplied, match="r0 already has data before this run"),
        ):
            load_kind("http").set_up(storage_settings("http", [endpoint]), ["r0"])


@contextmanager
def closing_storage(endpoint: str) -> Iterator[Any]:
    storage = storage_at(endpoint)
    yield storage
    storage.reconnect()


def grant() -> dict[str, Any]:
    return {
        "resource_id": "r0",
        "lock_acquired": True,
        "lock_token": "c0ffee",
        "fencing_token": 34,
        "lease_duration_ms": 700,
        "acquired_at": "2026-11-21T14:42:11Z",
    }


def drip(content: bytes) -> Iterator[bytes]:
    for place in range(len(content)):
        time.sleep(TIMEOUT / 4)
        yield content[place : place + 1]


class TestDeadline:
    @pytest.mark.parametrize("said", [[], drip(b"HTTP/1.1 200 OK\r\n" * 9), drip(answer(b"{" + b" " * 99))])
    def test_a_silent_or_slow_server_is_dropped_at_the_deadline(
        self, said: Iterator[Any] | list[Any]
    ) -> None:
        with answering(said) as (endpoint, requests), closing_storage(endpoint) as storage:
            called = time.monotonic()
            with pytest.raises(Unknown, match=r"timeout of 0\.5 s"):
                storage.write("r0", 1, "v", nothing)

        assert TIMEOUT <= time.monotonic() - called < 2 * TIMEOUT
        assert len(requests) == 1

    def test_a_body_that_trickles_in_has_the_same_deadline(self) -> None:
        head, _, body = answer(json.dumps({"resource_id": "r0"}).encode()).partition(b"\r\n\r\n")

        def slowly() -> Iterator[bytes]:
            yield head + b"\r\n\r\n"
            yield from drip(body)

        with answering(slowly()) as (endpoint, _), closing_storage(endpoint) as storage:
            called = time.monotonic()
            with pytest.raises(Unknown, match="timeout"):
                storage.write("r0", 1, "v", nothing)

        assert time.monotonic() - called < 2 * TIMEOUT

    def test_an_unaccepted_connection_has_the_same_deadline(self) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            address = listener.getsockname()[:2]
            with closing(socket.create_connection(address)), closing(socket.socket()) as second:
                second.setblocking(False)
                second.connect_ex(address)
                called = time.monotonic()
                with (
                    closing_storage(f"127.0.0.1:{address[1]}") as storage,
                    pytest.raises((NotApplied, Unknown)),
                ):
                    storage.write("r0", 1, "v", nothing)

        assert time.monotonic() - called < 2 * TIMEOUT

    def test_sent_is_called_once_the_request_is_sent(self) -> None:
        with (
            answering(answer({"resource_id": "r0"})) as (endpoint, requests),
            closing_storage(endpoint) as storage,
        ):
            seen = []

            def sent() -> None:
                deadline = time.monotonic() + 5
                while not requests and time.monotonic() < deadline:
                    time.sleep(0.001)
                seen.append(len(requests))

            storage.write("r0", 1, "v", sent)

        assert seen == [1]

    def test_an_answer_that_arrived_while_the_client_was_stopped_counts(self) -> None:
        with answering(answer({"resource_id": "r0"})) as (endpoint, _), closing_storage(endpoint) as storage:

            def stopped() -> None:
                until = time.monotonic() + 2 * TIMEOUT
                while time.monotonic() < until:
                    time.sleep(0.01)

            storage.write("r0", 1, "v", stopped)


class TestConnection:
    def test_one_connection_serves_many_calls(self) -> None:
        done = answer({"resource_id": "r0"})
        with answering(done, done, done) as (endpoint, requests), closing_storage(endpoint) as storage:
            for token in range(3):
                storage.write("r0", token, "v", nothing)

        assert len(requests) == 3

    def test_an_idle_connection_closed_by_the_server_is_reopened_before_use(
        self,
    ) -> None:
        with answering(answer({"resource_id": "r0"}), b"") as (endpoint, _):
            connection = HttpConnection(endpoint, TIMEOUT)
            connection.call("/write", {})
            connection._socket.shutdown(socket.SHUT_WR)
            wait_until_dropped(connection._socket)

            assert connection.call("/write", {}).status == 200
            connection.close()

    def test_a_name_without_an_address_was_never_reached(self) -> None:
        with pytest.raises(NotApplied, match="not connected"):
            HttpConnection("no-such-host.invalid:80", TIMEOUT).connect()

    def test_proxies_from_the_environment_are_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        with answering(answer({"resource_id": "r0"})) as (endpoint, _), closing_storage(endpoint) as storage:
            storage.write("r0", 1, "v", nothing)

    def test_the_path_of_the_url_precedes_the_paths_of_the_calls(self) -> None:
        with (
            answering(answer({"resource_id": "r0"})) as (endpoint, requests),
            closing_storage(f"{endpoint}/v2/") as storage,
        ):
            storage.write("r0", 1, "v", nothing)

        assert requests[0].startswith(b"POST /v2/write HTTP/1.1\r\n")


def wait_until_dropped(opened: Any) -> None:
    deadline = time.monotonic() + 5
    opened.setblocking(False)
    while time.monotonic() < deadline:
        try:
            if opened.recv(1, socket.MSG_PEEK) == b"":
                break
        except BlockingIOError:
            time.sleep(0.01)
    opened.setblocking(True)


@contextmanager
def speaking(at_once: bytes = b"") -> Iterator[Any]:
    """Yield the address of a server that greets every client, its requests, and a function that sends data."""
    opened: list[Any] = []
    requests: list[Any] = []

    def say(said: Any) -> None:
        opened[-1].sendall(said)

    def serve(connection: Any) -> None:
        with connection, suppress(OSError):
            connection.sendall(at_once)
            opened.append(connection)
            while asked := connection.recv(65536):
                requests.append(asked)
                connection.sendall(answer({"resource_id": "r0", "fencing_token": 1, "bytes": "YQo="}))

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", requests, say
        listener.shutdown(socket.SHUT_RDWR)


class TestAnswersThatArriveBeforeTheirRequest:
    FORGED = answer({"resource_id": "r0", "fencing_token": 99, "bytes": "Zm9yZ2VkCg=="})

    def test_pending_data_never_counts_as_the_next_answer(self) -> None:
        with speaking() as (endpoint, requests, say), closing_storage(endpoint) as storage:
            first = storage.read("r0")
            say(self.FORGED)
            assert has_input(storage._service._connection._socket.fileno(), 5)
            second = storage.read("r0")

        assert (first, second) == (("a", 1), ("a", 1))
        assert len(requests) == 2

    def test_a_server_that_sends_data_first_gets_no_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unsolicited_data, "GREETING", 5)
        with (
            speaking(self.FORGED) as (endpoint, requests, _),
            closing_storage(endpoint) as storage,
            pytest.raises(NotApplied, match="sent data before any request"),
        ):
            storage.read("r0")

        assert requests == []


class TestLimits:
    def test_an_answer_that_is_too_long_is_unknown(self) -> None:
        with (
            answering([answer({"resource_id": "r0", "more": "x" * MAX_BODY})]) as (endpoint, _),
            closing_storage(endpoint) as storage,
            pytest.raises(Unknown, match=f"more than {MAX_BODY} bytes"),
        ):
            storage.write("r0", 1, "v", nothing)

    def test_an_endless_answer_is_unknown(self) -> None:
        def endless() -> Iterator[bytes]:
            yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            while True:
                yield b"10000\r\n" + b" " * 0x10000 + b"\r\n"

        with (
            answering(endless()) as (endpoint, _),
            closing_storage(endpoint) as storage,
            pytest.raises(Unknown, match=f"more than {MAX_BODY} bytes"),
        ):
            storage.write("r0", 1, "v", nothing)

    def test_a_compressed_body_is_not_decompressed(self) -> None:
        packed = gzip.compress(json.dumps({"resource_id": "r0", "more": " " * 2**20}).encode())
        said = answer(packed, "200 OK\r\nContent-Encoding: gzip")
        with (
            answering(said) as (endpoint, requests),
            closing_storage(endpoint) as storage,
            pytest.raises(Unknown, match="status 200"),
        ):
            storage.write("r0", 1, "v", nothing)

        assert b"Accept-Encoding: identity\r\n" in requests[0]

    def test_redirects_are_not_followed(self) -> None:
        with answering(answer({"resource_id": "r0"})) as (other, followed):
            said = answer({"resource_id": "r0"}, f"307 Temporary Redirect\r\nLocation: http://{other}/write")
            with (
                answering(said) as (endpoint, _),
                closing_storage(endpoint) as storage,
                pytest.raises(Unknown, match="status 307"),
            ):
                storage.write("r0", 1, "v", nothing)

        assert followed == []
