"""Stale-write of an append: the list that it read shows that a newer append had taken effect before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from checkers.facts.evidence import gather
from checkers.rules.registers import observed
from tests.support.events import call, recorded

Lines = list[dict[str, Any]]
UNKNOWN = {"type": "info", "error": "timeout"}


REFUSED = {"type": "fail", "error": "stale"}


def append(
    process: int,
    token: int,
    called: int,
    read: Sequence[str] | None = (),
    *,
    element: str = "",
    answer: Mapping[str, str] | None = None,
    until: int | None = None,
) -> Lines:
    """An append of one ns, of which `read` is the list that it read; with None, its answer never came."""
    element, returned = element or f"{process}", called + 1 if until is None else until
    lists = {} if read is None else {"read": [*read], "written": [*read, element]}
    answer = answer or (UNKNOWN if read is None else {})
    return call(process, "append", called, returned, {**lists, **answer}, token=token, element=element)


def reading(process: int, called: int, *elements: str) -> Lines:
    return call(process, "read", called, called + 1, {"token": 9, "value": [*elements]})


def stale(*operations: Lines, policy: str = "inclusive") -> list[tuple[int, list[int]]]:
    """The call of each stale append, and those of what shows it."""
    lines = [line for operation in operations for line in operation]
    initial = {"value": [], "token": 0}
    history = recorded(*lines, fenced=True, policy=policy, initial=initial)
    return [
        (each.accused.called, [op.called for op in each.because])
        for each in observed(gather(history))
        if each.breach.anomaly == "stale-write"
    ]


NEWER = append(1, 3, 10, None)


def test_an_append_that_read_what_a_newer_token_wrote_is_stale() -> None:
    older = append(0, 2, 20, ["1"])

    assert stale(NEWER, older) == [(20, [10])]
    assert stale(NEWER, older, reading(2, 30, "1", "0")) == [(20, [10])], "its own answer is enough"


@pytest.mark.parametrize(("policy", "found"), [("inclusive", []), ("strict", [(20, [10])])])
def test_an_equal_token_is_stale_only_under_the_policy_strict(
    policy: str, found: list[tuple[int, list[int]]]
) -> None:
    assert stale(NEWER, append(0, 3, 20, ["1"]), policy=policy) == found
    assert stale(NEWER, append(0, 4, 20, ["1"]), policy=policy) == []


def test_a_list_that_another_client_read_shows_an_unanswered_append() -> None:
    unknown = append(0, 2, 20, None)

    assert stale(NEWER, unknown, reading(2, 30, "1", "0")) == [(20, [10, 30])]
    assert stale(NEWER, append(0, 2, 20, ["1"], answer=UNKNOWN), reading(2, 30, "1", "0")) == [(20, [10, 30])]
    assert stale(NEWER, unknown, append(2, 4, 30, ["1", "0"])) == [(20, [10, 30])]
    assert stale(NEWER, unknown, reading(2, 30, "0")) == []
    assert stale(NEWER, unknown, reading(2, 30, "0", "1")) == []


@pytest.mark.parametrize(("policy", "token"), [("inclusive", 2), ("strict", 3)])
def test_a_list_that_an_unanswered_append_read_shows_another(policy: str, token: int) -> None:
    reader = append(2, 4, 30, ["1", "0"], answer=UNKNOWN)

    assert stale(NEWER, append(0, token, 20, None), reader, policy=policy) == [(20, [10, 30])]
    assert stale(NEWER, append(0, token, 20, None, answer=REFUSED), reader, policy=policy) == []


def test_an_unanswered_append_that_nothing_shows_is_not_stale() -> None:
    assert stale(NEWER, append(0, 2, 20, ["1"], answer=UNKNOWN)) == []


def test_a_stale_append_has_not_used_up_its_token() -> None:
    older, newer = append(0, 2, 5, ["2", "1"], until=21), append(1, 3, 0, None)
    own = append(2, 2, 6, [], until=30)

    assert stale(older, newer, own, policy="strict") == [(5, [0])]


def test_each_stale_append_is_found_once() -> None:
    acknowledged = append(1, 3, 10)
    again = append(0, 2, 30, ["1", "0"], element="again")

    assert [accused for accused, _ in stale(acknowledged, append(0, 2, 20, ["1"]), again)] == [20, 30]


def test_a_right_append_does_not_end_the_search() -> None:
    right = append(2, 4, 20, ["1"])

    assert stale(NEWER, right, append(0, 2, 30, ["1", "2"])) == [(30, [20])]
    assert stale(NEWER, append(2, 4, 20, None), append(0, 2, 30, ["1", "2"])) == [(30, [20])]
    assert stale(NEWER, append(0, 2, 20, ["1"]), append(2, 4, 30, ["1", "0"]))[:1] == [(20, [10])]
