"""Stale writes where the lock gives no tokens: literal histories of holds in real time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Header, History, Op
from checkers.rules.registers import observed
from checkers.rules.stale_writes.by_holds import SEEN_AFTER_LATER, in_log
from tests.support.brute_force import operation
from tests.support.in_columns import Summary, summary_of


def granted(owner: str, called: int) -> Op:
    return operation("acquire", 0, called, called + 1, owner=owner)


def write(owner: str, called: int, returned: int, value: str = "") -> Op:
    return operation("write", 0, called, returned, owner=owner, value=value or owner)


def read(called: int, value: str) -> Op:
    return operation("read", 0, called, called + 1, value=value)


def history(*operations: Op, fenced: bool = False) -> History:
    """The operations by call, each by a process of its own."""
    ordered = sorted(operations, key=lambda op: op.called)
    return History(
        header=Header(target="t", fenced=fenced),
        operations=tuple(replace(op, index=index, process=index) for index, op in enumerate(ordered)),
    )


def on(resource: str, *operations: Op) -> list[Op]:
    return [replace(op, resource=resource, value=op.value and f"{resource} {op.value}") for op in operations]


def logged(*operations: Op, log: Sequence[str], fenced: bool = False) -> list[Summary]:
    """What the storage's own order shows, if these are the values in it."""
    commits = [Commit(seq=seq, resource="r0", token=None, value=value) for seq, value in enumerate(log)]
    evidence = gather(history(*operations, fenced=fenced), commits, same_run=True)
    return [summary_of(each) for each in in_log(evidence)]


def seen(*operations: Op) -> list[Summary]:
    return [summary_of(each) for each in observed(gather(history(*operations)))]


EARLIER, LATER = granted("a", 2), granted("b", 4)  # the second and the third operation of a history
FIRST = read(0, "")


def test_a_storage_that_promises_a_fence_is_not_judged_by_holds() -> None:
    operations = (EARLIER, LATER, write("b", 6, 7), write("a", 8, 9))

    assert [accused for _, _, accused, _ in logged(*operations, log=["b", "a"])] == [3]
    assert logged(*operations, log=["b", "a"], fenced=True) == []


def test_a_value_in_the_log_that_no_client_sent_is_of_no_hold() -> None:
    assert logged(FIRST, EARLIER, LATER, write("b", 6, 7), log=["b", "stray"]) == []


def test_the_newer_write_is_the_first_one_of_the_later_hold() -> None:
    operations = (EARLIER, LATER, write("b", 6, 7), write("b", 8, 9, "again"), write("a", 10, 11))

    found = logged(*operations, log=["b", "again", "a"])

    assert [(accused, because) for _, _, accused, because in found] == [(4, [2, 0, 1])]


def test_of_two_values_that_alternate_none_is_known_to_be_last() -> None:
    one, other = write("a", 5, 12), write("b", 6, 7)
    alternating = (EARLIER, LATER, one, other, read(8, "a"), read(13, "b"), read(15, "a"))
    last = (EARLIER, LATER, one, other, read(8, "a"))

    assert not [each for each in seen(*on("r0", *alternating)) if each[0] == "stale-write"]
    found = seen(*on("r0", *alternating), *on("r1", *last))
    assert [breach for anomaly, breach, *_ in found if anomaly == "stale-write"] == [SEEN_AFTER_LATER]
