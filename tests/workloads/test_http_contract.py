"""The HTTP contract: the meaning of each answer."""

from __future__ import annotations

import itertools
import json
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from checkers.text.limits import MIB, described
from tests.support.http_servers import answer, answering, closing_storage, grant, lock_at
from tests.support.systems import nothing, storage_settings
from workloads.client import NotApplied, Stale, Unknown
from workloads.storages import load_kind

LONG = "!" * 100_000
MOST_SHOWN = 500  # characters


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

    @pytest.mark.parametrize(
        "said",
        [
            answer({"error": LONG}, "409 Conflict"),
            answer(LONG.encode(), "500 Internal Server Error"),
            answer({"resource_id": "r0", "fencing_token": 7, "bytes": LONG}),
            answer({"resource_id": "r0", "fencing_token": None, "bytes": LONG}),
        ],
        ids=["refused", "failed", "no base64", "no token"],
    )
    def test_an_error_shows_only_the_beginning_of_a_long_answer(self, said: bytes) -> None:
        with (
            answering(said) as (endpoint, _),
            closing_storage(endpoint, "service") as storage,
            pytest.raises((NotApplied, Unknown)) as caught,
        ):
            storage.read("r0")

        assert len(str(caught.value)) < MOST_SHOWN

    def test_an_error_shows_only_the_beginning_of_a_long_grant(self) -> None:
        said = answer(grant() | {"lock_token": LONG, "fencing_token": None})

        with (
            answering(said) as (endpoint, _),
            closing(lock_at(endpoint)) as lock,
            pytest.raises(Unknown) as caught,
        ):
            lock.acquire("r0", "0-1")

        assert len(str(caught.value)) < MOST_SHOWN

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

        with (
            answering(said) as (endpoint, _),
            closing_storage(endpoint, "service") as storage,
            pytest.raises(Unknown),
        ):
            storage.read("r0")

    def test_a_storage_without_a_fence_may_have_writes_without_tokens(self) -> None:
        said = answer({"resource_id": "r0", "fencing_token": None, "bytes": "dgo="})

        with answering(said) as (endpoint, _), closing_storage(endpoint) as storage:
            assert storage.read("r0") == ("v", None)

    def test_a_service_without_a_commit_order_returns_none(self) -> None:
        with answering(answer({"error": "?"}, "404 Not Found")) as (endpoint, _):
            assert load_kind("http").committed(storage_settings("http", [endpoint])) is None

    @pytest.mark.parametrize(
        ("recorded", "most"), [(0, "16 MiB"), (1_500_000, "21.72 MiB"), (2_000_000_000, "24 MiB")]
    )
    def test_a_commit_order_without_end_is_unknown(
        self, recorded: int, most: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("workloads.storages.http.MOST_COMMITS", 24 * MIB)
        chunk = b"%x\r\n%s\r\n" % (MIB, b" " * MIB)
        begun = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk]
        sent = itertools.count()
        endless = itertools.chain(begun, (chunk for _ in sent))

        with answering(endless) as (endpoint, _), pytest.raises(Unknown) as caught:
            load_kind("http").committed(replace(storage_settings("http", [endpoint]), recorded=recorded))

        assert str(caught.value) == (
            f"/commits: the answer has more than {most}, the most for {described(recorded)} that the clients recorded;"
            " return only the writes and fences whose resource_id starts with the prefix in the request"
        )
        assert (
            next(sent) < float(most.removesuffix(" MiB")) + 64
        )  # MiB; more than the buffers of sockets hold

    def test_a_commit_order_may_be_longer_than_the_recording(self) -> None:
        entry = {"resource_id": "r0", "fencing_token": 3, "bytes": "YQo=", "more": "x" * 900}
        said = answer({"commits": [entry] * 18_000})  # 17 MiB

        with answering(said) as (endpoint, _):
            commits = load_kind("http").committed(
                replace(storage_settings("http", [endpoint]), recorded=300 * 1024)
            )

        assert len(commits) == 18_000

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
