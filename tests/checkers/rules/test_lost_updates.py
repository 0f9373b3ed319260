"""Lost updates, against their quadratic definition, and in literal histories with and without a log."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.explain.conflict import Conflict
from checkers.facts.appends import with_lists
from checkers.facts.evidence import gather
from checkers.facts.list_history import as_list
from checkers.history.records import History, List, Op
from checkers.rules.lost_updates import dropped_in_log, lost_updates
from checkers.rules.lost_updates.initial_elements import (
    INITIAL_LOGGED_WITHOUT,
    INITIAL_READ_WITHOUT,
    INITIAL_WRITTEN_WITHOUT,
)
from checkers.rules.lost_updates.story import SAME_LIST_READ
from tests.oracles.lists import lost_elements, overwritten
from tests.support.appends import append, history, judged, read
from tests.support.commit_logs import log
from tests.support.selection import examples

OF_THE_FIRST = (INITIAL_READ_WITHOUT, INITIAL_WRITTEN_WITHOUT)
ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))  # a nightly run asks for more


def test_a_late_write_between_a_new_holders_read_and_write_is_counted() -> None:
    late = append(1, 4, 5, "", "a")
    new = append(2, 6, 6, "", "b")

    assert judged(late, new, read(7, 8, "b", 6)) == [("b", "a", True)]


def test_a_lost_update_is_a_violation_with_fence_on_acquire() -> None:
    late = append(1, 4, 5, "", "a")
    new = append(2, 6, 6, "", "b")

    assert judged(late, new, read(7, 8, "b", 6), fence_on_acquire=True) == [("b", "a", False)]


def test_an_append_whose_list_was_read_did_not_write_another_one() -> None:
    first, second = append(0, 1, 1, None, "a", "info"), append(0, 1, 2, None, "b", "info")
    dropped = append(6, 7, 3, None, "c", "info")

    assert judged(first, second, read(4, 5, "ab", 2), dropped, read(8, 9, "bc", 3)) == [("c", "a", False)]


def test_two_appends_to_the_same_list_lose_one_even_without_a_read() -> None:
    assert judged(append(1, 4, 5, "x", "a"), append(2, 6, 6, "x", "b")) == [("b", "a", True)]


def test_of_two_appends_to_the_same_list_one_without_a_token_came_first() -> None:
    assert judged(append(1, 4, 0, "x", "a"), append(2, 6, None, "x", "b")) == [("a", "b", False)]


@pytest.mark.parametrize("token", [5, 7])
def test_a_reader_of_an_unknown_append_proves_that_two_read_the_same_list(token: int) -> None:
    unknown = replace(append(1, 3, token, None, "a", "info"), value=("x", "a"))
    reader = read(4, 5, "xa", token)

    (conflict,) = lost_updates(gather(history(unknown, reader, append(2, 8, 6, "x", "b"))))

    assert [(op.f, op.element) for op in conflict.because[1:]] == [("read", None)]


def test_a_longer_list_shows_what_an_unknown_append_had_read() -> None:
    unknown = replace(append(1, 3, 5, None, "a", "info"), value=("x", "a"))
    next_one = append(2, 3, 5, None, "b", "info")

    assert judged(unknown, next_one, read(4, 5, "xab", 5), append(2, 8, 6, "x", "c")) == [("c", "a", True)]


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


def test_a_list_that_no_append_wrote_leads_back_to_none() -> None:
    first, second = append(0, 1, 5, "", "a"), append(2, 3, 6, "a", "b")

    assert judged(first, second, read(4, 5, "b", 6)) == [("read", "a", False)]


def test_a_lower_token_came_before_unless_sent_after_the_element_was_known() -> None:
    known = append(0, 4, 6, "", "b")

    assert judged(known, append(4, 6, 5, "", "a"), read(7, 8, "a", 5)) == [("read", "b", False)]
    assert judged(known, append(5, 6, 5, "", "a"), read(7, 8, "a", 5)) == [("a", "b", False)]


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


def test_a_resource_with_plain_writes_too_is_not_judged() -> None:
    write = replace(read(10, 11, None), f="write", value="z", token=9)

    assert not judged(append(0, 1, 5, "", "a"), write, read(12, 13, "z", 9))


def test_the_storages_own_order_says_which_list_was_written() -> None:
    unknown = append(1, 3, 5, None, "a", "info")
    run = history(unknown, append(4, 5, 6, "xa", "b"), initial_token=0)

    assert with_lists(run, log((5, ("x", "a")))).operations[0].value == ("x", "a")


def test_a_seen_list_shows_what_was_written() -> None:
    unknown, other = append(1, 3, 5, None, "a", "info"), append(1, 3, 5, None, "c", "info")
    known = replace(other, element="d", seen=("x",))

    run = with_lists(history(unknown, other, known, append(4, 5, 6, "xa", "b"), read(6, 7, "xab", 6)))

    assert [op.value for op in run.operations[:3]] == [("x", "a"), ("c",), ("x", "d")]
    assert with_lists(run) is run


def test_the_append_that_left_an_initial_element_out_is_accused() -> None:
    careless = replace(append(0, 1, 5, "x", "a"), value=("a",))
    unknown = replace(append(2, 3, 6, "a", "b"), seen=None)

    conflicts = lost_updates(gather(history(careless, unknown, read(4, 5, "ab", 6), initial="x")))

    assert [(each.breach, each.accused.element) for each in conflicts] == [(INITIAL_WRITTEN_WITHOUT, "a")]


@st.composite
def lists(draw: st.DrawFn) -> History:
    """Appends and reads of lists that some of the others wrote, of every outcome, with ties in time."""
    initial = draw(st.sampled_from(["", "", "x", "xy"]))
    written: list[List] = [tuple(initial), tuple(initial[1:])]
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
    fenced, fence_on_acquire = draw(st.booleans()), draw(st.booleans())
    return history(*operations, initial=initial, fenced=fenced, fence_on_acquire=fence_on_acquire)


def reported(conflicts: list[Conflict]) -> set[object]:
    """The lost elements; "of the first" for one that was there before the run."""
    return {
        "of the first" if each.breach in OF_THE_FIRST else each.because[0].element
        for each in conflicts
        if each.breach is not SAME_LIST_READ
    }


@settings(max_examples=examples(800 * ROUNDS), deadline=None)
@given(lists())
def test_agrees_with_the_definition(run: History) -> None:
    conflicts = list(lost_updates(gather(run)))
    is_list = any(op.f == "append" for op in run.operations)
    first = as_list(run.header.initial_value) if is_list else ()
    lost = {"of the first" if each in first else each for each in lost_elements(run.operations, first)}

    assert bool(conflicts) == bool(lost or overwritten(run.operations))
    assert reported(conflicts) <= lost
    assert bool(reported(conflicts)) == bool(lost)
    accused = [each.accused.index for each in conflicts if each.breach is not SAME_LIST_READ]
    assert len(accused) == len(set(accused))


def logged(*operations: Op, order: str, **header: Any) -> list[tuple[object, object, bool]]:
    """Of each conflict: the element of the accused, the one that was lost, is it only counted?

    `order` has the elements of the appends as the storage stored them.
    """
    run = history(*operations, **header)
    by_element = {op.element: (op.token, op.value) for op in run.operations if op.f == "append"}
    conflicts = dropped_in_log(gather(run, log(*map(by_element.__getitem__, order))))
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


def test_a_write_that_read_what_a_late_write_had_left_is_explained_by_that() -> None:
    late = append(1, 9, 5, "x", "a", "info")
    lost = append(2, 3, 5, "x", "b")
    again = append(2, 12, 7, "xb", "c", "info")
    stale = append(10, 14, 6, "xa", "d")

    assert logged(late, lost, again, stale, order="bacd") == [
        ("a", "b", True),
        ("c", "a", True),
        ("d", "b", True),
    ]


def test_a_write_that_read_before_an_element_came_back_is_explained() -> None:
    first, stale = append(0, 1, 5, "", "e"), append(4, 5, 6, "", "x")
    late, right = append(2, 10, 6, "e", "b"), append(6, 12, 7, "x", "w")

    found = logged(first, stale, late, right, order="exbw")

    assert {accused: is_counted for accused, _, is_counted in found} == {"x": False, "b": True, "w": True}


@pytest.mark.parametrize(("seen", "accused"), [("x", []), ("", ["b"])])
def test_the_first_list_in_the_log_without_an_initial_element_loses_it(seen: str, accused: list[str]) -> None:
    run = history(append(0, 1, 5, "x", "a"), append(2, 3, 6, seen and "xa", "b"), initial="x")
    commits = log(*((op.token, op.value) for op in run.operations))

    conflicts = [
        each for each in dropped_in_log(gather(run, commits)) if each.breach is INITIAL_LOGGED_WITHOUT
    ]

    assert [each.accused.element for each in conflicts] == accused


def test_a_loss_that_the_log_does_not_show_is_left_to_the_readers() -> None:
    run = history(
        append(1, None, 5, "", "a", "info"),
        append(2, 8, 6, "", "b"),
        append(5, 12, 6, "a", "c"),
        read(13, 14, "a", 6),
    )
    commits = log((5, ("a",)), (6, ("b",)), (6, ("a", "c")))

    (conflict,) = lost_updates(gather(run, commits))

    assert (conflict.accused.f, conflict.because[0].element) == ("read", "c")


def test_a_fence_in_the_log_is_not_a_list() -> None:
    fence = replace(read(2, 3, None, 6), f="fence")
    run = history(append(0, 1, 5, "", "a"), fence, append(4, 5, 6, "a", "b"), fence_on_acquire=True)
    commits = log((5, ("a",)), (6, None), (6, ("a", "b")))

    assert not list(dropped_in_log(gather(run, commits)))
