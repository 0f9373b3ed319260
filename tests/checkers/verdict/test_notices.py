"""What a reader should know about how a run was judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.facts.evidence import gather
from checkers.verdict.notices import notices
from tests.support.commit_logs import log
from tests.support.events import call, recorded

SECOND = 1_000_000_000
LATE = (
    "the first grant came {} s after the first request, of {} s in all: a client program should make one"
    " request before it answers start"
)


def notices_of(*acquires: tuple[float, float, dict[str, Any]]) -> Sequence[str]:
    """The notices about acquires of several clients: when each was called and answered (s), and the answer."""
    events = []
    for process, (called, returned, answer) in enumerate(acquires):
        moments = int(called * SECOND), int(returned * SECOND)
        events += call(process, "acquire", *moments, answer, owner=f"{process}-1")
    return list(notices(gather(recorded(*events))))


def granted(token: int) -> dict[str, Any]:
    return {"type": "ok", "token": token, "ttl": SECOND}


@pytest.mark.parametrize(
    ("first", "expected"),
    [(3.9, []), (4.1, [LATE.format("4.1", "10.0")]), (7.3, [LATE.format("7.3", "10.0")])],
)
def test_a_late_first_grant_is_reported(first: float, expected: list[str]) -> None:
    assert notices_of((0, first, granted(1)), (1, 10, granted(2))) == expected


def test_a_grant_within_the_first_quarter_of_a_run_is_not_late() -> None:
    assert notices_of((0, 5, granted(1)), (1, 20, granted(2))) == []


def test_unusable_answers_are_reported_even_if_others_were_fine() -> None:
    unusable = {"type": "info", "error": 'the program said {"token":5.5}: Expected `int` - at `$.token`'}
    other = {"type": "info", "error": "no answer in time"}

    said = notices_of((0, 0.5, granted(1)), (0, 1, unusable), (0, 2, unusable), (0, 3, other))

    assert said == [f"2 answers were unusable, so their outcomes are unknown; the first: {unusable['error']}"]


def test_a_program_that_ended_by_itself_is_reported() -> None:
    ended = {"type": "info", "error": "the program ended with status 3"}

    (said,) = notices_of((0, 0.5, granted(1)), (0, 1, ended), (0, 2, ended))

    assert said.startswith("the client program ended before it had answered 2 calls")
    assert "the first: the program ended with status 3;" in said


def test_calls_that_raised_are_reported_with_their_most_frequent_error() -> None:
    boom, key = (
        "raised ValueError: boom (mine.py:12, in write)",
        "raised KeyError: 'r0' (mine.py:9, in write)",
    )
    errors = [{"type": "info", "error": said} for said in (key, boom, boom)]

    (said,) = notices_of((0, 0.5, granted(1)), *((0, at, error) for at, error in enumerate(errors, start=1)))

    assert said == (
        f"3 calls ended with a Python error, so their outcomes are unknown; the most frequent, 2 of 3: {boom}"
    )


@pytest.mark.parametrize(
    "error", ["raised ValueError: boom", "the program said nothing", "the program ended"]
)
def test_the_reason_why_no_lock_was_granted_is_said_once(error: str) -> None:
    said = notices_of(*((at, at + 0.5, {"type": "info", "error": error}) for at in range(3)))

    assert len(said) == 1 + (error == "the program ended")  # which also says where its output is
    assert "\n".join(said).count(error) == 1


def test_other_unusable_answers_are_counted_without_the_reason_again() -> None:
    errors = [{"type": "info", "error": f"the program said {each}"} for each in "aab"]

    never, unusable = notices_of(*((at, at + 0.5, error) for at, error in enumerate(errors)))

    assert never.endswith("the most frequent reason, 2 of 3: the program said a")
    assert unusable == "3 answers were unusable, so their outcomes are unknown"


WITHOUT = (
    "holds were ordered by what is certain in real time, which gives no order to grants that overlap;"
    " duplicate-token and token-regression had nothing to compare"
)


def test_a_lock_without_tokens_is_reported() -> None:
    none = {"type": "ok", "token": None, "ttl": SECOND}

    assert notices_of((0, 1, none), (2, 3, none)) == [f"this lock gives no fencing token: {WITHOUT}"]
    assert notices_of((0, 1, none), (2, 3, granted(2))) == [
        f"1 of 2 grants came without a fencing token: {WITHOUT}"
    ]
    assert notices_of((0, 1, granted(1)), (2, 3, granted(2))) == []


def test_a_lock_that_answered_no_acquire_before_the_end_was_never_granted() -> None:
    asked, _ = call(0, "acquire", 0, 1, owner="0-1")

    (notice,) = notices(gather(recorded(asked)))

    assert notice.endswith(
        "1 of 1 acquires got no usable answer, and 1 had no answer when the recording ended"
    )


def test_the_most_frequent_reason_for_no_grant_is_named() -> None:
    reasons = ["not ready", "no such table", "no such table"]
    refused = [(2 * at, 2 * at + 1, {"type": "fail", "error": said}) for at, said in enumerate(reasons)]

    (notice,) = notices_of(*refused)

    assert notice == (
        "the lock was never granted: 3 of 3 acquires were refused; the most frequent reason, 2 of 3: no such table"
    )


def test_a_single_refusal_is_in_the_singular() -> None:
    (notice,) = notices_of((0, 1, {"type": "fail"}), (0, 1, {"type": "info"}))

    assert notice == "the lock was never granted: 1 of 2 acquires got no usable answer, 1 was refused"


def test_errors_of_one_type_from_one_place_are_one_reason() -> None:
    errors = [f"raised TypeError: attempt={at} (mine.py:9, in acquire)" for at in range(3)]
    other = "raised TypeError: attempt=1 (mine.py:12, in acquire)"

    (notice,) = notices_of(
        *(
            (at, at + 1, {"type": "info", "error": said})
            for at, said in enumerate([*errors, other, errors[0]])
        )
    )[:1]

    assert notice.endswith(f"the most frequent reason, 4 of 5: {errors[0]}")


def test_an_empty_order_of_writes_is_reported() -> None:
    history = recorded(*call(0, "write", 1, 2, token=1, value="a"))

    assert [each for each in notices(gather(history, log((1, "a")))) if "own order" in each] == []
    (said,) = (each for each in notices(gather(history, [], same_run=True)) if "own order" in each)
    assert said.startswith("the storage's own order of writes is empty, although 1 of the clients' writes")
