"""Tokens that look like numbers that are none, and tokens that only seem to."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from checkers.facts.evidence import gather, in_columns
from checkers.facts.token_shapes import shape_of
from checkers.history.columns import Columns
from checkers.history.reader import read
from tests.support.brute_force import operation
from tests.support.literal_histories import LITERAL

SECOND = 10**9  # ns
STARTED = 4_000 * SECOND  # the host's monotonic clock, as after an hour
SINCE_1970 = 1_763_900_000 * SECOND
GRANTS = 30
LEASE = 0x3C1F_0A9B_7754_0000 >> 1


def columns_of(token: Callable[[int, int], int], gap: int = SECOND, grants: int = GRANTS) -> Columns:
    """Grants of two clients, one each `gap` ns; the token is made of the time and of the number of the grant."""
    rng = random.Random(1)
    operations = []
    for index in range(grants):
        called = STARTED + index * gap + rng.randint(0, gap // 3)
        returned = called + rng.randint(10**5, 10**7)
        grant = {"index": index, "owner": f"{index}", "token": token(rng.randint(called, returned), index)}
        operations.append(operation("acquire", index % 2, called, returned, **grant))
    return Columns.of(operations)


@pytest.mark.parametrize(
    ("token", "shape"),
    [
        (lambda now, _nth: SINCE_1970 + now, "a wall clock in nanoseconds"),
        (lambda now, _nth: (SINCE_1970 + now) // 10**3, "a wall clock in microseconds"),
        (lambda now, _nth: (SINCE_1970 + now) // 10**6, "a wall clock in milliseconds"),
        (lambda now, _nth: (SINCE_1970 + now) // 10**9, "a wall clock in seconds"),
        (lambda now, nth: SINCE_1970 + now + 7 * SECOND * (nth % 2), "a wall clock in nanoseconds"),
        (lambda now, _nth: now, "a monotonic clock in nanoseconds"),
        (lambda now, _nth: now // 10**9, "a monotonic clock in seconds"),
        (lambda now, _nth: now + 10**15, "a clock in nanoseconds"),
        (lambda now, _nth: now // 10**6 + 10**9, "a clock in milliseconds"),
        (lambda _now, nth: random.Random(nth).getrandbits(63), "random numbers"),
        (lambda _now, nth: random.Random(nth).getrandbits(32), "random numbers"),
        (lambda _now, nth: LEASE + 2 * nth, "the id of a lease or a session"),
        (lambda _now, nth: LEASE + ((nth % 3) << 50) + nth, "the id of a lease or a session"),
    ],
)
def test_tokens_that_are_no_counters_are_recognized(token: Any, shape: str) -> None:
    found = shape_of(columns_of(token), 2)

    assert found == shape


@pytest.mark.parametrize(
    "token",
    [
        lambda _now, nth: nth,
        lambda _now, nth: nth // 2,
        lambda _now, nth: GRANTS - nth,
        lambda _now, nth: 3 * nth + random.Random(nth).randint(0, 2),
        lambda _now, nth: 2**53 + nth,
        lambda _now, nth: 2**62 + nth,
        lambda _now, nth: (7 << 32) + 11 * nth,  # ZooKeeper's czxid
        lambda _now, nth: nth if nth < GRANTS // 2 else nth - GRANTS // 2,  # a counter that was lost
        lambda now, _nth: now // SECOND - STARTED // SECOND,  # one grant a second
    ],
)
def test_counters_are_not_taken_for_anything_else(token: Any) -> None:
    assert shape_of(columns_of(token), 2) is None


def test_a_few_grants_look_like_nothing() -> None:
    assert shape_of(columns_of(lambda now, _nth: SINCE_1970 + now, grants=7)) is None


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("lease-id-token", "the id of a lease or a session"),
        ("uuid-token", "random numbers"),
        ("wall-clock-token", "a wall clock in nanoseconds"),
        ("redlock-postgres-clock", "a wall clock in nanoseconds"),
        ("token-past-2-to-53", None),
        ("sequence-number-token", None),
        ("token-past-2-to-53-twin", None),
        ("etcd-postgres-kill", None),
        ("redis-postgres-failover", None),
        ("redis-without-persistence", None),
        ("sequence-number-token-twin", None),
    ],
)
def test_recordings_of_real_locks_are_told_apart(recorded_run: Any, name: str, shape: str | None) -> None:
    history = read(recorded_run(name) / "history.jsonl")

    assert shape_of(in_columns(gather(history)).columns, history.header.clients) == shape


@pytest.mark.parametrize("name", [name for name in LITERAL if name.startswith("valid/")])
def test_literal_histories_look_like_nothing(name: str) -> None:
    assert shape_of(in_columns(gather(read(LITERAL[name]))).columns) is None
