"""The HTTP connection: deadlines, reuse, unsolicited data and limits."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.http_servers import (
    TIMEOUT,
    answer,
    answering,
    closing_storage,
    speaking,
    wait_until_dropped,
)
from tests.support.systems import nothing
from tests.support.waiting import SOON, wait_for
from workloads import unsolicited_data
from workloads.client import NotApplied, Unknown
from workloads.http_connection import MAX_BODY, HttpConnection
from workloads.unsolicited_data import has_input


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

        assert TIMEOUT <= time.monotonic() - called < SOON
        assert len(requests) == 1

    def test_a_body_that_trickles_in_has_the_same_deadline(self) -> None:
        head, _, body = answer(b"{" + b" " * 99).partition(b"\r\n\r\n")

        def slowly() -> Iterator[bytes]:
            yield head + b"\r\n\r\n"
            yield from drip(body)

        with answering(slowly()) as (endpoint, _), closing_storage(endpoint) as storage:
            called = time.monotonic()
            with pytest.raises(Unknown, match="timeout"):
                storage.write("r0", 1, "v", nothing)

        assert time.monotonic() - called < SOON

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

        assert time.monotonic() - called < SOON

    def test_sent_is_called_once_the_request_is_sent(self) -> None:
        with (
            answering(answer({"resource_id": "r0"})) as (endpoint, requests),
            closing_storage(endpoint) as storage,
        ):
            seen = []

            def sent() -> None:
                wait_for(lambda: requests)
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

    def test_an_idle_connection_closed_by_the_server_is_reopened_before_use(self) -> None:
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
            pytest.raises(Unknown, match="more than 1 MiB"),
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
            pytest.raises(Unknown, match="more than 1 MiB"),
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
