"""The list that an append read is evidence of the append that had written it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.history.records import WRITES, List, Op, Outcome
from checkers.verdict.judge import judge
from tests.support.appends import append, history, read
from tests.support.commit_logs import log
from tests.support.selection import Cases

_NAMES = {"stale-write", "stale-read", "false-rejection", "ghost-write", "lost-write", "non-linearizable"}


def accused(*operations: Op, **header: object) -> list[tuple[str, tuple[int, ...]]]:
    """The name and the lines of each finding, but for what was lost from the list."""
    found = judge(history(*operations, **header)).findings
    return [(each.anomaly, each.operations) for each in found if each.anomaly != "lost-update"]


@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_an_append_that_had_read_a_newer_list_is_stale(fenced: bool, outcome: str) -> None:
    newer = append(0, 5, 4, "", "a", outcome)

    assert accused(newer, append(3, 4, 2, "a", "b"), fenced=fenced) == [("stale-write", (2, 3, 4, 5))]


def test_another_append_shows_that_a_stale_one_took_effect() -> None:
    newer, stale = append(0, 1, 4, "", "a", "info"), append(2, 3, 2, "a", "b", "info")

    assert accused(newer, stale) == []
    assert accused(newer, stale, append(4, 5, 4, "ab", "c")) == [("stale-write", (2, 3, 4, 5, 6, 7))]


@pytest.mark.parametrize(("policy", "found"), [("strict", ["stale-write"]), ("inclusive", [])])
def test_a_strict_fence_accepts_a_token_once_also_of_an_unanswered_append(
    policy: str, found: list[str]
) -> None:
    recorded = history(append(0, 1, 4, "", "a", "info"), append(2, 3, 4, "a", "b"))
    recorded = replace(recorded, header=replace(recorded.header, policy=policy))

    assert [each.anomaly for each in judge(recorded).findings] == found


def test_an_append_that_had_read_an_older_list_is_right() -> None:
    assert accused(append(0, 1, 2, "", "a", "info"), append(2, 3, 4, "a", "b")) == []


def test_a_failed_append_whose_list_was_found_took_effect() -> None:
    failed = replace(append(0, 1, 2, "", "a", "fail"), error="refused")

    assert accused(failed, append(2, 3, 4, "a", "b")) == [("ghost-write", (2, 3, 4, 5))]


def test_a_list_that_nobody_wrote_cannot_be_found() -> None:
    assert accused(append(0, 1, 2, "z", "a")) == [("non-linearizable", (2, 3))]
    assert accused(append(0, 1, 2, "", "a")) == []
    assert accused(append(0, 1, 2, "z", "a"), initial="z") == []


def test_a_list_cannot_be_found_before_its_append_is_called() -> None:
    found = append(0, 4, 4, "a", "b")

    assert accused(found, append(5, 6, 2, "", "a", "info")) == [("non-linearizable", (2, 3, 4, 5))]
    assert accused(found, append(4, 6, 2, "", "a", "info")) == []


def test_what_nobody_sent_and_the_log_has_is_left_to_the_log() -> None:
    commits = log((1, ("z",)), (2, ("z", "a")))

    findings = judge(history(append(0, 1, 2, "z", "a")), commits).findings

    assert [each.summary for each in findings] == [
        "the storage's own order of writes to r0 has the list that ends with 'z', which no client sent there"
    ]


@pytest.mark.parametrize(("outcome", "found"), [("info", "non-linearizable"), ("ok", "lost-write")])
def test_a_list_that_was_found_and_the_log_lacks_contradicts_it(outcome: str, found: str) -> None:
    recorded = history(append(0, 1, 1, "", "a", outcome), append(2, 3, 2, "a", "b"))

    findings = judge(recorded, log((2, ("a", "b")))).findings

    assert [each.anomaly for each in findings if each.anomaly != "lost-update"] == [found]
    assert any("in order to append to it" in step for step in findings[0].steps)


@pytest.mark.parametrize("shown", [append(4, 5, 5, "ab", "c"), read(4, 5, "ab", 1)])
def test_an_append_without_lists_is_stale_by_what_others_read(shown: Op) -> None:
    newer, stale = append(0, 1, 3, "", "a"), append(2, 3, 1, None, "b", "info")

    assert accused(newer, stale) == []
    assert accused(newer, stale, shown) == [("stale-write", (2, 3, 4, 5, 6, 7))]


def test_an_append_in_the_middle_of_a_list_that_was_read_took_effect() -> None:
    newer, stale = append(0, 1, 3, "", "a"), append(2, 3, 1, None, "b", "info")
    last = append(2, 4, 5, None, "c", "info")

    assert accused(newer, stale, last) == []
    assert accused(newer, stale, last, read(5, 6, "abc", 5)) == [("stale-write", (2, 3, 4, 5, 8, 9))]


def test_elements_of_a_list_show_the_order_of_their_appends() -> None:
    newer, older = append(0, 9, 3, "", "a"), append(0, 1, 2, None, "b", "info")

    assert accused(newer, older, append(4, 5, 5, "ab", "c")) == [("stale-write", (2, 3, 4, 5, 6, 7))]
    assert accused(newer, older, append(4, 5, 5, "ba", "c")) == [("non-linearizable", (6, 7))]


@pytest.mark.parametrize("error", ["stale", "refused"])
def test_a_failed_append_whose_element_was_read_took_effect(error: str) -> None:
    failed = replace(append(0, 1, 1, "", "a", "fail"), error=error)
    second = append(0, 3, 2, None, "b", "info")

    assert accused(failed, second) == []
    assert [name for name, _ in accused(failed, second, read(4, 5, "ab", 2))] == ["ghost-write"]


def test_no_order_explains_what_is_found(cases: Cases) -> None:
    rng = random.Random(5)
    wrong = 0
    for _ in range(cases(2000)):
        operations = _random_list(rng)
        found = accused(*operations)

        assert {name for name, _ in found} <= _NAMES
        if found:
            wrong += 1
            assert not _explained(history(*operations).operations), operations
    assert wrong > cases(2000) / 20


def _random_list(rng: random.Random) -> list[Op]:
    """What a right storage answered, or one that lets some older tokens through, with many ties in time."""
    mark, held = 0, ""
    operations, now = [], 0
    bad = rng.random() < 0.5
    for element in "abcdef"[: rng.randint(2, 6)]:
        token, called = rng.randint(1, 3), max(0, now - rng.randint(0, 2))
        now += rng.randint(0, 2)
        found = rng.choice(["z", held[:-1]]) if bad and rng.random() < 0.1 else held
        if token < mark and not (bad and rng.random() < 0.4):
            operations.append(replace(append(called, now, token, found, element, "fail"), error="stale"))
            continue
        outcome = rng.choice(["ok", "info"])
        reported = None if rng.random() < 0.3 else found
        operations.append(append(called, now, token, reported, element, outcome))
        mark, held = max(mark, token), found + element
        if rng.random() < 0.3:
            operations.append(read(now, now + 1, held, token))
    return operations


def _explained(operations: Sequence[Op]) -> bool:
    """Is there an order with two moments for each append: it reads a list, and then it writes one?"""
    steps = [*((op, False) for op in operations), *((op, True) for op in operations if op.f in WRITES)]
    certain = frozenset(i for i, (op, writes) in enumerate(steps) if _over(op, writes) < float("inf"))
    first = {op.index: i for i, (op, writes) in enumerate(steps) if not writes}
    seen = set()

    def search(done: frozenset[int], held: List, mark: int, read: frozenset[tuple[int, List]]) -> bool:
        if certain <= done:
            return True
        if (done, held, mark, read) in seen:
            return False
        seen.add((done, held, mark, read))
        for i, (op, writes) in enumerate(steps):
            waits = writes and first[op.index] not in done
            if i in done or waits or any(_over(*steps[j]) < op.called for j in certain - done):
                continue
            accepted = (op.token or 0) >= mark
            after: tuple[List, int] | None
            if not writes:
                reported = op.value if op.f == "read" else op.seen
                after = (held, mark) if reported in {held, None} else None
            elif op.outcome is Outcome.FAIL:
                after = None if accepted else (held, mark)
            else:
                wrote = (*dict(read)[op.index], op.element or "")
                after = (wrote, op.token or 0) if accepted else None
            got = read if writes else read | {(op.index, held)}
            if after is not None and search(done | {i}, *after, got):
                return True
        return False

    return search(frozenset(), (), 0, frozenset())


def _over(op: Op, writes: bool) -> float:
    """By when a step of an operation had surely been taken."""
    known = op.returned if writes or (op.f == "append" and op.seen is None) else op.learned
    return float("inf") if known is None else known
