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
from checkers.history.records import Op
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


@pytest.mark.parametrize(("grants", "shape"), [(7, None), (8, "a wall clock in nanoseconds")])
def test_a_few_grants_look_like_nothing(grants: int, shape: str | None) -> None:
    assert shape_of(columns_of(lambda now, _nth: SINCE_1970 + now, grants=grants)) == shape


@pytest.mark.parametrize("clients", [None, 2])
def test_clocks_are_recognized_in_whatever_processes_the_clients_run(clients: int | None) -> None:
    columns = columns_of(lambda now, _nth: now)
    columns.process[:] = range(GRANTS)

    assert shape_of(columns, clients) == "a monotonic clock in nanoseconds"


MS = 10**6  # ns
LONG = [(100 * MS * nth, 100 * MS * nth + 50 * MS) for nth in range(8)]  # a fifteenth of the run each
SHORT = [(100 * MS * nth, 100 * MS * nth + MS) for nth in range(11)]  # the run takes 1.001 s
SLACK = 2 * MS + 1_001 * MS // 10_000  # of the short ones
OF_THIS_CENTURY = 15 * 10**17, 42 * 10**17  # ns


def grant(nth: int, called: int, returned: int, token: int, client: int = 0, resource: str = "r0") -> Op:
    known = {"index": nth, "owner": f"{nth}", "token": token, "resource": resource}
    return operation("acquire", client, called, returned, **known)


def shape_at(moments: list[tuple[int, int]], tokens: list[int], clients: int = 1) -> str | None:
    """What the tokens of the clients' grants look like, who get the lock in turn at these moments."""
    each = zip(moments, tokens, strict=True)
    grants = (grant(nth, *moment, token, nth % clients) for nth, (moment, token) in enumerate(each))
    return shape_of(Columns.of(grants), clients)


@pytest.mark.parametrize(
    ("off", "shape"),
    [
        ((SLACK, 0), "a monotonic clock in nanoseconds"),
        ((SLACK + 1, 0), "a clock in nanoseconds"),
        ((0, -SLACK - 1), "a monotonic clock in nanoseconds"),
        ((0, -SLACK - 2), "a clock in nanoseconds"),
        ((SLACK, -SLACK - 1), "a monotonic clock in nanoseconds"),
        ((SLACK, -SLACK - 2), None),
    ],
)
def test_a_clock_may_be_read_a_little_before_or_after_its_grant(off: tuple[int, int], shape: str) -> None:
    late, early = off
    tokens = [returned + late if nth else SHORT[0][0] + early for nth, (_, returned) in enumerate(SHORT)]

    assert shape_at(SHORT, tokens) == shape


@pytest.mark.parametrize(("length", "shape"), [(50, None), (49, "a monotonic clock in nanoseconds")])
def test_a_grant_that_takes_a_twentieth_of_the_run_tells_no_time(length: int, shape: str | None) -> None:
    moments = [(105 * nth, 105 * nth + length) for nth in range(10)]
    moments[-1] = 1_000 - length, 1_000

    assert shape_at(moments, [returned for _, returned in moments]) == shape


@pytest.mark.parametrize(("last", "shape"), [(499, None), (500, "a monotonic clock in nanoseconds")])
def test_tokens_that_span_less_than_half_of_the_run_tell_no_time(last: int, shape: str | None) -> None:
    starts = [STARTED + at * SECOND for at in (*range(0, 500, 50), last)]
    moments = [*((start, start + MS) for start in starts), (STARTED, STARTED + 1_000 * SECOND)]

    assert shape_at(moments, [start for start, _ in moments]) == shape


@pytest.mark.parametrize(("clients", "shape"), [(2, None), (1, "a monotonic clock in nanoseconds")])
def test_a_clocks_first_reading_only_sets_it(clients: int, shape: str | None) -> None:
    moments = SHORT[:9]

    assert shape_at(moments, [returned for _, returned in moments], clients) == shape


@pytest.mark.parametrize(
    ("tokens", "shape"),
    [
        (range(OF_THIS_CENTURY[0], OF_THIS_CENTURY[0] + 1_001, 100), "a wall clock in nanoseconds"),
        (range(OF_THIS_CENTURY[0] - 1, OF_THIS_CENTURY[0] + 1_000, 100), "a clock in nanoseconds"),
        (range(OF_THIS_CENTURY[1] - 1_000, OF_THIS_CENTURY[1] + 1, 100), "a wall clock in nanoseconds"),
        (range(OF_THIS_CENTURY[1] - 999, OF_THIS_CENTURY[1] + 2, 100), "a clock in nanoseconds"),
    ],
)
def test_wall_clocks_show_a_time_of_this_century(tokens: range, shape: str) -> None:
    assert shape_at([(100 * nth, 100 * nth + 1) for nth in range(11)], list(tokens)) == shape


def test_grants_of_one_moment_may_read_one_time() -> None:
    assert shape_at([(7, 7)] * 8, [SINCE_1970] * 8) == "a wall clock in nanoseconds"


@pytest.mark.parametrize(
    ("unit", "apart", "shape"),
    [
        (1, 0, "a wall clock in nanoseconds"),
        (10**3, 10**9, "a wall clock in microseconds"),  # two clocks, a quarter of an hour apart
        (10**9, 0, None),  # a counter may count seconds
    ],
)
def test_long_grants_tell_the_time_by_the_calendar(unit: int, apart: int, shape: str | None) -> None:
    moments = LONG if unit < 10**9 else [(200 * start, 200 * end) for start, end in LONG]
    off = [called - MS if nth < 2 else returned for nth, (called, returned) in enumerate(moments)]
    tokens = [(SINCE_1970 + time) // unit + apart * (nth % 2) for nth, time in enumerate(off)]

    assert shape_at(moments, tokens, 2) == shape


SERVER, TIME = 1 << 48, 1 << 16


@pytest.mark.parametrize(
    ("first", "others", "shape"),
    [
        (SERVER + TIME, 0, "the id of a lease or a session"),
        (SERVER, 0, None),
        (SERVER + TIME, TIME << 16, "the id of a lease or a session"),
        (SERVER + TIME, (TIME << 16) + TIME, None),
        (3 * SERVER + TIME, SERVER, "the id of a lease or a session"),
    ],
)
def test_ids_have_the_number_of_a_server_and_a_time(first: int, others: int, shape: str | None) -> None:
    assert shape_of(columns_of(lambda _now, nth: first + nth + others * (nth > 0))) == shape


@pytest.mark.parametrize(("servers", "shape"), [(16, "the id of a lease or a session"), (17, None)])
def test_ids_have_few_servers(servers: int, shape: str | None) -> None:
    tokens = columns_of(lambda _now, nth: SERVER * (1 + nth % servers) + TIME + nth, grants=68)

    assert shape_of(tokens) == shape


def shuffled(falls: int, steps: int = 8, resource: str = "r0", width: int = 10**6) -> list[tuple[str, int]]:
    """Tokens of a resource that fall this often from one to the next, and rise otherwise."""
    places = [*range(falls, -1, -1), *range(falls + 1, steps + 1)]
    return [(resource, place * width + int(resource[1:])) for place in places]


@pytest.mark.parametrize(
    ("tokens", "shape"),
    [
        (shuffled(1), None),
        (shuffled(2), "random numbers"),
        (shuffled(6), "random numbers"),
        (shuffled(7), None),
        (shuffled(3, 7), "random numbers"),
        (shuffled(3, 4) + shuffled(1, 3, "r1", 10**5 + 1), "random numbers"),
        (shuffled(3, 4) + shuffled(1, 2, "r1", 10**5 + 1), None),
        ([*shuffled(3), ("r0", 0)], None),
        ([*shuffled(3, width=90_000 // 8), ("r0", 100_000)], None),
        ([*shuffled(3, width=90_000 // 8), ("r0", 100_001)], "random numbers"),
        ([(name, 2**40 + token) for name, token in shuffled(3, width=1)], None),
    ],
)
def test_random_numbers_are_spread_and_fall_as_often_as_they_rise(
    tokens: list[tuple[str, int]], shape: str | None
) -> None:
    grants = [
        grant(nth, nth * SECOND, nth * SECOND, token, 0, name) for nth, (name, token) in enumerate(tokens)
    ]

    assert shape_of(Columns.of(grants)) == shape


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
