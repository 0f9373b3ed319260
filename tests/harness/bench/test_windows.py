"""When the clients of a bench send: as fast as they can, in turn at a rate, and late ones from when due."""

import itertools
import time
from dataclasses import replace

import pytest

from harness.bench.orders import BLOCKS, Window
from harness.bench.series import windows

MS = 1_000_000


def test_a_closed_loop_ends_with_its_window() -> None:
    now = time.monotonic_ns()
    moments = list(Window(begins=now + 10 * MS, ends=now + 30 * MS).moments())

    assert moments[0] >= now + 10 * MS
    assert moments[-1] < now + 30 * MS
    assert moments == sorted(moments)


def test_the_end_of_a_hold_waits_as_long_as_an_operation() -> None:
    begun = time.monotonic_ns()
    Window(begins=begun, ends=begun + MS).wait()
    Window(begins=begun, ends=begun + MS, every=20 * MS).wait()

    assert time.monotonic_ns() - begun >= 20 * MS


def test_an_open_loop_counts_from_when_each_was_due() -> None:
    now = time.monotonic_ns()
    window = Window(begins=now, ends=now + 60_000 * MS, every=5 * MS, first=1 * MS, is_open=True)
    moments = []
    for due in itertools.islice(window.moments(), 5):
        moments.append(due)
        if len(moments) == 1:
            time.sleep(0.02)  # a slow answer

    assert moments == [now + each * MS for each in (1, 6, 11, 16, 21)]


def test_what_an_open_loop_could_not_send_is_counted() -> None:
    window = Window(begins=0, ends=50 * MS, every=10 * MS, is_open=True)

    assert [window.unsent(sent) for sent in (0, 3, 5, 6)] == [5, 2, 0, 0]
    assert replace(window, first=5 * MS).unsent(0) == 5
    assert Window(begins=0, ends=50 * MS, every=10 * MS).unsent(3) == 0


@pytest.mark.parametrize("rate", [600, 1090, 2180, 3280])
def test_a_request_due_at_the_end_is_not_missing(rate: int) -> None:
    window = windows(64, 0, 200 * MS, rate, is_open=True)

    assert sum(window(client).unsent(0) for client in range(64)) == rate // 5


def test_a_limited_loop_does_not_catch_up_after_a_slow_answer() -> None:
    now = time.monotonic_ns()
    moments = []
    for moment in Window(begins=now, ends=now + 100 * MS, every=10 * MS).moments():
        moments.append(moment)
        if len(moments) == 1:
            time.sleep(0.05)  # a slow answer

    assert moments[2] - moments[1] > 9 * MS
    assert len(moments) <= 6


def test_late_requests_of_an_open_loop_keep_below_the_limit() -> None:
    begins = time.monotonic_ns() - 100 * MS  # twenty are late
    window = Window(begins=begins, ends=begins + 200 * MS, every=5 * MS, is_open=True, gap=20 * MS)
    sent = [time.monotonic_ns() for _ in itertools.islice(window.moments(), 4)]

    assert all(later - earlier >= 19 * MS for earlier, later in itertools.pairwise(sent))


def test_an_open_loop_sends_late_requests_for_as_long_again() -> None:
    begins = time.monotonic_ns() - 60 * MS  # it is over already
    window = Window(begins=begins, ends=begins + 50 * MS, every=10 * MS, is_open=True)

    assert len(list(window.moments())) == 5
    assert list(replace(window, begins=begins - 100 * MS, ends=begins - 50 * MS).moments()) == []
    assert list(replace(window, is_open=False).moments()) == []


def test_the_clients_of_a_rate_take_turns() -> None:
    window = windows(4, 0, 100 * MS, 100, is_open=True)

    assert [window(client).first for client in range(4)] == [0, 10 * MS, 20 * MS, 30 * MS]
    assert window(0).every == 40 * MS


@pytest.mark.parametrize(
    ("moment", "block"), [(0, 0), (99, 0), (100, 1), (999, 9), (1000, BLOCKS), (5000, BLOCKS)]
)
def test_a_moment_is_in_a_block(moment: int, block: int) -> None:
    assert Window(begins=0, ends=1000).block(moment) == block
