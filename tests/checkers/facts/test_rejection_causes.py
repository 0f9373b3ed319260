"""What can have caused a rejection, at the borders of tokens and of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import gather
from checkers.facts.rejection_causes import may_be_below, refusals_by_one, were_shut_out
from checkers.history.ranges import NOWHERE
from checkers.history.records import Commit, Op
from tests.support.brute_force import fenced, history_of, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.lock_requests import fault

REFUSED = write(1, 2, 2, 3, "stale")


def zones(*operations: Op, policy: str = "strict") -> ZoneColumns:
    return zones_of(gather(history_of(renumbered(operations), strict=policy == "strict")))


@pytest.mark.parametrize(
    ("policy", "token", "returned", "expected"),
    [
        ("strict", 1, 1, False),
        ("strict", 2, 1, True),
        ("strict", 2, 2, False),
        ("inclusive", 2, 1, False),
        ("inclusive", 3, 1, True),
    ],
)
def test_a_write_is_shut_out_once_a_token_that_refuses_it_was_accepted(
    policy: str, token: int, returned: int, expected: bool
) -> None:
    assert were_shut_out(zones(write(0, token, 0, returned), REFUSED, policy=policy)) is expected


def proved(*operations: Op) -> list[tuple[int | None, str]]:
    """The token of each zone's write that a refusal proves, and the value refused."""
    found = zones(*operations)
    return [
        (found.write_of(zone).token, str(found.ops[row].value))
        for zone, row in enumerate(refusals_by_one(found).tolist())
        if row != NOWHERE
    ]


@pytest.mark.parametrize(("called", "expected"), [(3, [(3, "v1")]), (4, [])])
def test_the_only_possible_cause_of_a_refusal_was_called_by_its_return(
    called: int, expected: list[tuple[int | None, str]]
) -> None:
    cause, its_read = write(2, 3, called, 9, "info"), read(3, ("v2", 3), 8, 9)

    assert proved(REFUSED, cause, its_read) == expected
    lower, higher = [write(4, 0, 0, 1), write(5, 1, 0, 1)], [write(index, index, 4, 9) for index in (6, 7)]
    assert proved(REFUSED, cause, its_read, *lower) == expected
    assert proved(REFUSED, cause, its_read, *lower, *higher) == expected


def test_a_refusal_without_a_cause_that_took_effect_proves_no_value() -> None:
    assert proved(REFUSED) == proved(REFUSED, write(2, 3, 0, 9, "info")) == []


def below(
    *operations: Op, commits: Sequence[Commit] | None = None, healed: int | None = None, initial: int = 0
) -> list[bool]:
    """Whether each refused write may have met a higher token; a restart of the storage ended then."""
    history = history_of(renumbered(operations))
    faults = () if healed is None else tuple(fault("storage", 0, healed, "kill"))
    history = replace(history, header=replace(history.header, initial_token=initial), faults=faults)
    evidence = gather(history, commits, same_run=commits is not None)
    return [bool(each) for each in may_be_below(evidence, zones_of(evidence).rejected)]


AT_OR_AFTER_THE_RETURN = pytest.mark.parametrize(("called", "expected"), [(3, [True]), (4, [False])])


@AT_OR_AFTER_THE_RETURN
def test_what_was_called_as_a_write_was_refused_may_be_above_it(called: int, expected: list[bool]) -> None:
    assert below(REFUSED, write(0, 3, called, 9)) == expected


@AT_OR_AFTER_THE_RETURN
def test_so_may_a_write_that_a_restart_has_undone(called: int, expected: list[bool]) -> None:
    undone = write(0, 3, called, 9, "info")

    assert below(REFUSED, undone, write(3, 1, 0, 1), commits=log((1, "v3")), healed=4) == expected


@AT_OR_AFTER_THE_RETURN
def test_so_may_an_acknowledged_write_that_the_log_lacks(called: int, expected: list[bool]) -> None:
    assert below(REFUSED, write(0, 3, called, 9), write(3, 1, 0, 1), commits=log((1, "v3"))) == expected


@pytest.mark.parametrize(("token", "expected"), [(3, [False]), (4, [True]), (5, [True])])
def test_a_log_lacks_fences_up_to_the_initial_token(token: int, expected: list[bool]) -> None:
    at_start, refused_later = fenced(write(0, token, 0, 1)), write(1, 3, 2, 3, "stale")

    assert below(at_start, refused_later, commits=log((1, None)), initial=5) == expected
