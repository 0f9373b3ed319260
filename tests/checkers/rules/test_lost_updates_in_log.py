"""Lost updates where the storage's own order is known, in literal histories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Op
from checkers.rules.lost_updates import dropped_in_log, lost_updates
from tests.support.appends import append, history, read


def logged(*operations: Op, order: str, **header: Any) -> list[tuple[object, object, bool]]:
    """Of each conflict: the element of the accused, the one that was lost, is it only counted?

    `order` has the elements of the appends as the storage stored them.
    """
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


def test_a_loss_that_the_log_does_not_show_is_left_to_the_readers() -> None:
    run = history(
        append(1, None, 5, "", "a", "info"),
        append(2, 8, 6, "", "b"),
        append(5, 12, 6, "a", "c"),
        read(13, 14, "a", 6),
    )
    commits = [
        Commit(seq=1, resource="r0", token=5, value=("a",)),
        Commit(seq=2, resource="r0", token=6, value=("b",)),
        Commit(seq=3, resource="r0", token=6, value=("a", "c")),
    ]

    (conflict,) = lost_updates(gather(run, commits))

    assert (conflict.accused.f, conflict.because[0].element) == ("read", "c")


def test_a_fence_in_the_log_is_not_a_list() -> None:
    fence = replace(read(2, 3, None, 6), f="fence")
    run = history(append(0, 1, 5, "", "a"), fence, append(4, 5, 6, "a", "b"), fence_on_acquire=True)
    commits = [
        Commit(seq=1, resource="r0", token=5, value=("a",)),
        Commit(seq=2, resource="r0", token=6, fence=True),
        Commit(seq=3, resource="r0", token=6, value=("a", "b")),
    ]

    assert not list(dropped_in_log(gather(run, commits)))
