"""Lost updates, against their quadratic definition, in literal histories and in simulated runs."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers import Commit, parse
from checkers.conflict import Conflict
from checkers.evidence import gather
from checkers.history.appends import with_lists
from checkers.history.records import Header, History, List, Op, Outcome
from checkers.lists.lost_updates import SAME_LIST_READ, dropped_in_log, lost_updates
from checkers.reference.lists import lost_elements, overwritten
from tests.support.examples import examples
from tests.support.simulation import Simulation

ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))  # a nightly run asks for more


def append(
    called: int, returned: int | None, token: int | None, seen: str | None, element: str, outcome: str = "ok"
) -> Op:
    """Elements are letters: "ab" is a list of two. None: it is unknown which list it read and wrote."""
    return Op(
        index=0,
        process=0,
        f="append",
        resource="r0",
        called=called,
        returned=None if outcome == "info" else returned,
        learned=returned,
        outcome=Outcome(outcome),
        token=token,
        element=element,
        seen=None if seen is None else tuple(seen),
        value=None if seen is None else (*seen, element),
    )


def read(called: int, returned: int, shown: str | None, token: int = 0) -> Op:
    return Op(
        index=0,
        process=0,
        f="read",
        resource="r0",
        called=called,
        returned=returned,
        learned=returned,
        outcome=Outcome.OK,
        token=token,
        value=None if shown is None else tuple(shown),
    )


def history(*operations: Op, **header: object) -> History:
    """The operations in the order of their calls, each by a process of its own."""
    ordered = sorted(operations, key=lambda op: op.called)
    return History(
        header=Header(target="t", policy="inclusive", initial_value=(), **header),
        operations=tuple(
            replace(op, index=index, process=index, lines=(2 * index + 2, 2 * index + 3))
            for index, op in enumerate(ordered)
        ),
    )


def judged(*operations: Op, **header: Any) -> list[tuple[object, object, bool]]:
    """Of each conflict: the element of the accused (or "read"), the one that was lost, is it only counted?"""
    conflicts = lost_updates(gather(history(*operations, **header)))
    return [(each.accused.element or "read", each.because[0].element, each.counted) for each in conflicts]


def test_sequential_appends_are_not_lost() -> None:
    assert not judged(append(0, 1, 5, "", "a"), append(2, 3, 6, "a", "b"), read(4, 5, "ab", 6))


def test_a_late_write_between_a_new_holders_read_and_write_is_counted() -> None:
    late = append(1, 4, 5, "", "a")
    new = append(2, 6, 6, "", "b")

    assert judged(late, new, read(7, 8, "b", 6)) == [("b", "a", True)]


def test_a_lost_update_is_a_violation_with_fence_on_acquire() -> None:
    late = append(1, 4, 5, "", "a")
    new = append(2, 6, 6, "", "b")

    assert judged(late, new, read(7, 8, "b", 6), fence_on_acquire=True) == [("b", "a", False)]


def test_two_appends_to_the_same_list_lose_one_even_without_a_read() -> None:
    assert judged(append(1, 4, 5, "x", "a"), append(2, 6, 6, "x", "b")) == [("b", "a", True)]


def test_an_unknown_append_was_not_lost() -> None:
    assert not judged(append(1, 4, 5, "", "a", "info"), append(2, 6, 6, "", "b"), read(7, 8, "b", 6))


def test_an_append_whose_list_was_read_is_known() -> None:
    unknown = append(1, 3, 5, None, "a", "info")

    assert judged(unknown, read(4, 5, "a", 5), append(2, 8, 6, "", "b"), read(9, 10, "b", 6)) == [
        ("b", "a", True)
    ]


def test_a_late_write_explains_it_though_the_next_read_is_unknown() -> None:
    late = append(1, 4, 5, "x", "a")
    new = append(2, 6, 6, None, "v", "info")
    later = append(8, 9, 7, None, "w", "info")

    assert judged(late, new, later, append(10, 11, 8, "xvw", "d")) == [("v", "a", True)]


def test_a_holder_that_read_an_old_list_is_accused_and_nothing_explains_it() -> None:
    first, second = append(0, 1, 5, "", "a"), append(2, 3, 6, "a", "b")
    old = append(4, 5, 7, "a", "c")

    assert judged(first, second, old, read(6, 7, "ac", 7)) == [("c", "b", False)]


def test_a_client_that_left_out_what_it_had_read_is_accused() -> None:
    careless = replace(append(2, 3, 6, "a", "b"), value=("b",))

    assert judged(append(0, 1, 5, "", "a"), careless, read(4, 5, "b", 6)) == [("b", "a", False)]


def test_a_read_of_an_old_list_is_accused_itself() -> None:
    first, second = append(0, 1, 5, "", "a"), append(2, 3, 6, "a", "b")

    assert judged(first, second, read(4, 5, "a", 5)) == [("read", "b", False)]
    assert judged(first, second, read(4, 5, None)) == [("read", "a", False)]


def test_without_a_fence_the_stale_append_is_accused() -> None:
    old = append(1, 6, 5, "", "a")
    new = append(2, 3, 6, "", "b")

    assert judged(old, new, read(7, 8, "a", 5), fenced=False) == [("a", "b", False)]


def test_a_holders_own_append_that_came_late_is_counted_also_with_fences() -> None:
    unknown = append(1, 2, 6, "", "a", "info")
    again = append(3, 9, 6, "", "b")

    found = judged(unknown, again, read(5, 6, "a", 6), read(10, 11, "b", 6), fence_on_acquire=True)

    assert found == [("b", "a", True)]


def test_an_append_without_a_token_is_explained_by_nothing() -> None:
    assert judged(append(1, 4, None, "", "a"), append(2, 6, 6, "", "b"), read(7, 8, "b", 6)) == [
        ("b", "a", False)
    ]


def test_one_append_that_dropped_several_is_one_conflict() -> None:
    late = [append(1, 4, 5, "", "a"), append(5, 6, 5, "a", "c")]

    ((accused, _, is_counted),) = judged(*late, append(2, 7, 6, "", "b"), read(8, 9, "b", 6))

    assert (accused, is_counted) == ("b", True)


def test_a_resource_with_plain_writes_too_is_not_judged() -> None:
    write = replace(read(10, 11, None), f="write", value="z", token=9)

    assert not judged(append(0, 1, 5, "", "a"), write, read(12, 13, "z", 9))


def logged(*operations: Op, order: str, **header: Any) -> list[tuple[object, object, bool]]:
    """As `judged`, with the storage's own order of the appends, by their elements."""
    run = history(*operations, **header)
    by_element = {op.element: op for op in run.operations if op.f == "append"}
    commits = [
        Commit(seq=seq, resource="r0", token=by_element[each].token, value=by_element[each].value)
        for seq, each in enumerate(order, start=1)
    ]
    conflicts = dropped_in_log(gather(run, commits))
    return [(each.accused.element, each.because[0].element, each.counted) for each in conflicts]


def test_the_storages_own_order_shows_an_unread_loss() -> None:
    late, new = append(1, 4, 5, "", "a"), append(2, 6, 6, "", "b")

    assert logged(late, new, order="ab") == [("b", "a", True)]
    assert logged(late, new, order="ab", fence_on_acquire=True) == [("b", "a", False)]
    assert logged(late, append(5, 6, 6, "a", "b"), order="ab") == []


def test_an_append_is_not_accused_of_an_earlier_loss() -> None:
    late = append(1, 9, 5, "x", "a", "info")
    lost = append(2, 3, 5, "x", "b")
    again = append(2, 12, 6, "xb", "c", "info")
    last = append(10, 14, 6, "xa", "d")

    found = logged(late, lost, again, last, order="bacd")

    assert [(accused, is_counted) for accused, _, is_counted in found] == [
        ("a", True),
        ("c", True),
        ("d", True),
    ]


def test_the_storages_own_order_says_which_list_was_written() -> None:
    unknown = append(1, 3, 5, None, "a", "info")
    run = history(unknown, append(4, 5, 6, "xa", "b"), initial_token=0)
    commits = [Commit(seq=1, resource="r0", token=5, value=("x", "a"))]

    assert with_lists(run, commits).operations[0].value == ("x", "a")


def test_a_seen_list_shows_what_was_written() -> None:
    unknown, other = append(1, 3, 5, None, "a", "info"), append(1, 3, 5, None, "c", "info")
    known = replace(other, element="d", seen=("x",))

    run = with_lists(history(unknown, other, known, append(4, 5, 6, "xa", "b"), read(6, 7, "xab", 6)))

    assert [op.value for op in run.operations[:3]] == [("x", "a"), ("c",), ("x", "d")]
    assert with_lists(run) is run


@st.composite
def lists(draw: st.DrawFn) -> History:
    """Appends and reads of lists that some of the others wrote, of every outcome, with ties in time."""
    written: list[List] = [()]
    operations = []
    for element in "abcdefg"[: draw(st.integers(1, 7))]:
        called, returned = sorted((draw(st.integers(0, 20)), draw(st.integers(0, 20))))
        shown = "".join(draw(st.sampled_from(written)))
        if draw(st.booleans()):
            outcome = draw(st.sampled_from(["ok", "ok", "info", "fail"]))
            token = draw(st.sampled_from([1, 2, 3, None]))
            one = append(called, returned, token, shown, element, outcome)
            known = draw(st.sampled_from(["all", "all", "seen", "none"])) if outcome == "info" else "all"
            written.append((*shown, element))
            if known != "all":
                one = replace(one, value=None, seen=one.seen if known == "seen" else None)
            operations.append(one)
        else:
            operations.append(read(called, returned, shown, 1))
    return history(*operations, fenced=draw(st.booleans()), fence_on_acquire=draw(st.booleans()))


def reported(conflicts: list[Conflict]) -> set[object]:
    return {each.because[0].element for each in conflicts if each.breach is not SAME_LIST_READ}


@settings(max_examples=examples(800 * ROUNDS), deadline=None)
@given(lists())
def test_agrees_with_the_definition(run: History) -> None:
    conflicts = list(lost_updates(gather(run)))
    lost = lost_elements(run.operations)

    assert bool(conflicts) == bool(lost or overwritten(run.operations))
    assert reported(conflicts) <= lost
    assert bool(reported(conflicts)) == bool(lost)
    accused = [each.accused.index for each in conflicts if each.breach is not SAME_LIST_READ]
    assert len(accused) == len(set(accused))


KINDS = [
    {"policy": "strict"},
    {"policy": "inclusive"},
    {"policy": "inclusive", "sessions": True, "outages": True},
]


def commits(run: Simulation) -> list[Commit]:
    return [
        Commit(seq=seq, resource="r0", token=token, value=tuple(value))
        for seq, (value, token) in enumerate(run.storage.log, start=1)
    ]


def in_run(run: Simulation) -> tuple[list[Conflict], list[Conflict]]:
    """What clients saw, and what the storage's own order shows."""
    observed = gather(parse(run.lines()))
    return list(lost_updates(observed)), list(dropped_in_log(gather(observed.history, commits(run))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_correct_services_lose_updates_only_by_late_writes(kind: dict[str, Any]) -> None:
    counted = 0
    for seed in range(75):
        observed, committed = in_run(Simulation(seed=seed, appends=True, **kind))

        assert all(each.counted for each in (*observed, *committed)), seed
        assert {each.because[0].element for each in observed} <= everything_dropped(seed, kind)
        counted += bool(observed)
    assert counted > 5


def everything_dropped(seed: int, kind: dict[str, object]) -> set[str]:
    """By the storage itself: what one list had and the next had not."""
    log = [value for value, _ in Simulation(seed=seed, appends=True, **kind).storage.log]
    return {element for one, other in itertools.pairwise(log) for element in set(one).difference(other)}


@pytest.mark.slow
def test_nothing_is_lost_with_fence_on_acquire() -> None:
    for seed in range(100):
        run = Simulation(seed=seed, appends=True, policy="inclusive", fence_on_acquire=True)

        assert in_run(run) == ([], []), seed


def test_lists_that_are_read_as_they_were_before_are_found() -> None:
    found = 0
    for seed in range(30):
        observed, _ = in_run(Simulation(seed=seed, appends=True, policy="inclusive", lag=0.2))
        found += any(not each.counted for each in observed)
    assert found > 25
