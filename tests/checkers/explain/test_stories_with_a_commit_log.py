"""What findings say where the storage's own order has fences, unmatched commits, or lacks what was acknowledged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkers.history.reader import parse
from checkers.history.records import Commit, Op
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding, Verdict
from tests.support.brute_force import fenced as fence
from tests.support.brute_force import read, renumbered, write
from tests.support.commit_logs import log
from tests.support.in_columns import lines_of

FENCED_THEN_REFUSED = (fence(write(0, 4, 1, 9, "info")), write(1, 2, 1, 2, "stale"), read(2, (None, 2), 3, 4))


def judged(*operations: Op, commits: list[Commit] | tuple[()] = (), token: int = 0, **header: Any) -> Verdict:
    """Each operation by a process of its own; every finding must be explained."""
    own = [replace(op, process=process) for process, op in enumerate(operations)]
    header |= {"initial": {"value": None, "token": token}}
    verdict = judge(parse(lines_of(renumbered(own), **header)), list(commits), same_run=True)
    assert not [each.account.doubt for each in verdict.findings if each.account.doubt]
    assert all(each.steps for each in verdict.findings)
    return verdict


def the(verdict: Verdict, beginning: str) -> Finding:
    """The only finding whose summary begins like that."""
    (found,) = [each for each in verdict.findings if each.summary.startswith(beginning)]
    return found


@pytest.mark.parametrize(
    ("operation", "before"), [(write(0, 1, 1, 2, "stale"), ()), (write(0, 1, 1, 2), ((1, "v0"),))]
)
def test_an_unsent_value_that_is_logged_twice_is_named_by_its_places(
    operation: Op, before: tuple[tuple[int, str], ...]
) -> None:
    verdict = judged(operation, commits=log(*before, (2, "s"), (2, "s")))

    first, second = 1 + len(before), 2 + len(before)
    assert the(verdict, "an unknown client wrote").steps[0] == (
        f"By the storage's own order, the write of 's' (number {first}) came before the write of 's'"
        f" (number {second}): there, 's' is number {first} and 's' is number {second}."
    )


def test_an_unsent_value_is_the_cause_of_a_refusal() -> None:
    operations = write(0, 2, 0, 0, "stale"), read(1, (None, 1), 1, 2), write(2, 2, 1, 4)

    steps = the(judged(*operations, commits=log((2, "s"), (2, "v2")), token=1), "either the storage").steps

    assert steps[0].startswith("By the rejection, the write of 's' came before the refused write of 'v0':")
    assert steps[0].endswith("; the first such token in the storage's own order is 2 (number 1).")
    assert steps[2].startswith("So the read at line 4 came before the write of 's'")


def test_a_logged_fence_is_the_cause_of_a_refusal() -> None:
    verdict = judged(*FENCED_THEN_REFUSED, commits=log((0, "s"), (4, None)), policy="inclusive", token=2)

    steps = the(verdict, "either the storage").steps
    assert steps[0] == (
        "By the storage's own order, the write of 's' came before the fence with token 4: there,"
        " 's' is number 1 and the fence with token 4 is number 2."
    )
    assert steps[1].startswith("By the rejection, the fence with token 4 came before the refused write")


def test_the_first_sufficient_token_in_the_log_causes_a_refusal() -> None:
    verdict = judged(*FENCED_THEN_REFUSED, commits=log((3, "s"), (4, None)), policy="inclusive", token=2)

    assert the(verdict, "either the storage").steps[0].endswith(" order is 3 (number 1).")
    assert the(verdict, "the storage's own order of writes").steps[0] == (
        "In the storage's own order, 's' is number 1; the fence with token 4 (sent at 0 ns (line 2)) is number 2."
    )


def test_an_unsent_value_is_placed_by_the_number_of_another_write() -> None:
    elsewhere = Commit(seq=1, resource="r1", token=1, value="s")

    verdict = judged(
        write(0, 1, 1, 2), commits=[elsewhere, Commit(seq=2, resource="r0", token=1, value="v0")]
    )

    assert the(verdict, "the storage's own order of writes").steps[0] == (
        "In the storage's own order, 's' is number 1; 'v0' (sent at 0 ns (line 2)) is number 2."
    )


def test_a_logged_fence_has_a_name() -> None:
    verdict = judged(fence(write(0, 1, 1, 2)), write(1, 1, 3, 4), commits=log((1, "v1"), (1, None)))

    assert (
        the(verdict, "process 1 wrote 'v1'")
        .steps[1]
        .endswith("there, 'v1' is number 1 and the fence with token 1 is number 2.")
    )


def test_a_write_that_took_effect_again_after_a_fence_names_the_fence() -> None:
    verdict = judged(
        write(0, 1, 1, 2), fence(write(1, 5, 3, 4)), commits=log((1, "v0"), (5, None), (1, "v0"))
    )

    found = the(verdict, "the write of 'v0'")
    assert found.summary.endswith(
        "took effect once more after the storage had been fenced with the newer token 5"
    )
    assert "came before the fence with token 5, in its turn" in found.steps[1]


def test_a_fence_that_came_too_late_for_a_refusal_is_named_once() -> None:
    operations = (
        write(0, 1, 1, 9, "info"),
        write(1, 1, 3, 4, "stale"),
        read(2, (None, 0), 5, 6),
        fence(write(3, 9, 20, 21)),
    )

    assert the(judged(*operations, commits=log((9, None))), "the storage refused process 1's write").steps[
        2
    ] == (
        "But every write or fence on r0 that can have been accepted with such a token was sent only after"
        " that: the first, the fence with token 9, at 19 ns (line 8)."
    )


def test_an_acknowledged_write_not_in_the_log_causes_no_refusal() -> None:
    verdict = judged(write(0, 1, 1, 2, "stale"), write(1, 3, 5, 5))

    assert the(verdict, "the storage refused process 0's write").steps[2] == (
        "But every write to r0 that can have been accepted with such a token was sent only after that: the"
        " first, the write of 'v1' with token 3, at 4 ns (line 4)."
    )


def test_an_unsent_value_too_late_for_a_refusal_is_explained() -> None:
    verdict = judged(write(0, 1, 10, 11), write(1, 2, 2, 4, "stale"), commits=log((1, "v0"), (5, "s")))

    assert the(verdict, "the storage refused process 1's write").steps[3] == (
        "The write of 's' was sent at an unknown time, but in the storage's own order it comes after the"
        " write of 'v0', which was sent only at 8 ns (line 4)."
    )


def test_an_acknowledged_fence_says_how_far_the_log_had_got_by_then() -> None:
    operations = fence(write(0, 4, 0, 3)), write(1, 4, 0, 9, "info"), read(2, (None, 0), 6, 7)

    verdict = judged(*operations, commits=log((4, "v1"), (1, None)), policy="inclusive")

    assert the(verdict, "process 2 read nothing").steps == (
        (
            "The storage acknowledged to process 0 a fence with token 4 at 3 ns (line 4): by then its own order"
            " must have had 'v1' (number 1)."
        ),
        "Process 2 called its read only later, at 6 ns (line 5).",
        "So the read returned nothing although 'v1' had replaced it.",
    )


def test_a_refusal_without_a_cause_says_why_a_ghost_write_came_too_late() -> None:
    ghost = replace(write(0, 5, 0, 1, "stale"), error="broken")
    verdict = judged(ghost, write(1, 3, 2, 3, "stale"), write(2, 4, 4, 5), commits=log((4, "v2"), (5, "v0")))

    steps = the(verdict, "the storage refused").steps

    assert "or cannot have been accepted by then" in steps[2]
    assert steps[3].startswith("The write of 'v0' was sent ")
    assert "in the storage's own order it comes after the write of 'v2'" in steps[3]
