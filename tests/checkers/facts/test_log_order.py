"""The commit log: which commit was sent by whom, and where the log had got to by refusals and reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from checkers.facts.evidence import Evidence, gather
from checkers.facts.log_columns import LogColumns
from checkers.facts.log_order import LogOrder, order_of
from checkers.history.records import Commit, Op
from checkers.rules.non_linearizable.commit_order import AGAINST_THE_LOG, against_the_log
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.rejections import of_logged
from tests.support.brute_force import fenced, history_of, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.in_columns import summary_of


def ordered(evidence: Evidence) -> LogOrder:
    order = order_of(evidence)
    assert order is not None
    return order


def named(causes: list[Op]) -> list[str | int | None]:
    """What was written, or the token of a fence."""
    return [op.token if op.f == "fence" else str(op.value) for op in causes]


@pytest.mark.parametrize(("strict", "cause"), [(True, "v1"), (False, "v2")])
def test_the_first_mark_that_refuses_a_token_caused_its_rejection(strict: bool, cause: str) -> None:
    first, equal, above = write(0, 1, 0, 1), write(1, 2, 0, 9, "info"), write(2, 3, 0, 9, "info")
    refused, late = write(3, 2, 2, 3, "stale"), write(4, 1, 4, 5)
    history = history_of([first, equal, above, refused, late], strict=strict)

    order = ordered(gather(history, log((1, "v0"), (2, "v1"), (3, "v2"), (1, "v4"))))

    assert named(order.causes(refused, late)) == [cause]


FENCED = [(1, "v0"), (2, "v1"), (9, None), (10, "v4")]


@pytest.mark.parametrize(
    ("entries", "pair", "expected"),
    [
        (FENCED, ("v0", 1), [9, "v0", "v1"]),
        (FENCED, (None, 0), [9, "v0"]),
        ([(1, "v0"), (2, "v1"), (1, "v0"), (3, "v4"), (9, None)], ("v0", 1), [9, "v0", "v0", "v4"]),
    ],
    ids=["a value", "the initial value", "a value that was logged twice"],
)
def test_the_write_that_replaced_a_value_shows_that_a_cause_came_later(
    entries: list[tuple[int | None, str | None]], pair: tuple[str | None, int], expected: list[str | int]
) -> None:
    writes = [write(0, 1, 0, 1), write(1, 2, 0, 9, "info"), write(4, 10, 0, 9, "info")]
    fence = replace(fenced(write(2, 9, 0, 9, "info")), process=2)
    refused, late = write(3, 5, 2, 3, "stale"), read(5, pair, 4, 5)
    elsewhere = replace(write(6, 1, 0, 1), resource="r1")
    operations = renumbered([elsewhere, *writes, fence, refused, late])

    order = ordered(
        gather(history_of(operations), [Commit(seq=0, resource="r1", token=1, value="v6"), *log(*entries)])
    )

    assert named(order.causes(operations[-2], operations[-1])) == expected


def test_an_operation_is_shown_as_it_was_stored() -> None:
    sent = [write(0, 7, 0, 1), write(1, 2, 2, 3)]

    order = ordered(gather(history_of(sent), log((1, "v0"), (2, "v1"))))

    assert [order.as_stored(row).token for row in (0, 1)] == [1, 2]


TWICE = log((1, "v0"), (3, "v1"), (1, "v0"))


def test_a_value_logged_twice_is_read_where_it_had_not_been_replaced() -> None:
    replaced = write(1, 3, 0, 1)
    unknown = write(0, 1, 0, 9, "info")
    again, back = read(2, ("v0", 1), 2, 3), read(3, ("v1", 3), 4, 5)
    operations = renumbered([unknown, replaced, again, back])

    (found,) = against_the_log(gather(history_of(operations), TWICE))

    assert (found.breach, found.accused.value) == (AGAINST_THE_LOG, "v1")


def test_a_value_that_was_replaced_wherever_it_was_logged_comes_too_late() -> None:
    operations = renumbered(
        [
            write(0, 1, 0, 1),
            write(1, 3, 0, 1),
            write(2, 4, 0, 1),
            read(3, ("v2", 4), 2, 3),
            read(4, ("v0", 1), 4, 5),
        ]
    )

    (found,) = against_the_log(
        gather(history_of(operations), [*TWICE, Commit(seq=9, resource="r0", token=4, value="v2")])
    )

    assert (found.anomaly, found.accused.index) == ("stale-read", 4)


def test_a_conflict_that_only_refusals_show_names_the_first_of_them() -> None:
    writes = write(0, 1, 0, 1), write(1, 3, 0, 9, "info")
    refused = [write(2, 2, 2, 3, "stale"), write(4, 2, 5, 5, "stale")]
    long, again = read(3, ("v0", 1), 4, 20), read(5, ("v0", 1), 6, 7)
    back = read(6, ("v1", 3), 8, 9)
    operations = renumbered([*writes, *refused, long, again, back])

    found = of_logged(gather(history_of(operations), TWICE))

    assert [summary_of(each) for each in found] == [("non-linearizable", FALSE_OR_STALE, 6, [2])]


def late(*operations: Op, commits: list[Commit]) -> list[tuple[str, int, list[int]]]:
    found = map(summary_of, against_the_log(gather(history_of(renumbered(operations)), commits)))
    return [(anomaly, accused, because) for anomaly, _, accused, because in found]


def test_a_value_that_only_older_ones_replaced_is_no_stale_read() -> None:
    writes = write(0, 5, 0, 1), write(1, 3, 2, 3), write(2, 2, 4, 5)

    found = late(*writes, read(3, ("v1", 3), 6, 7), commits=log((5, "v0"), (3, "v1"), (2, "v2")))

    assert found == [("non-linearizable", 3, [1, 2])]


def test_the_first_newer_value_and_the_last_old_one_show_a_stale_read() -> None:
    writes = [write(i, i + 1, 2 * i, 2 * i + 1) for i in range(4)]
    entries = log(*((i + 1, f"v{i}") for i in range(4)))

    assert late(*writes, read(4, ("v0", 1), 8, 9), commits=entries) == [("stale-read", 4, [0, 1, 3])]


def test_nothing_of_the_log_shows_that_the_initial_value_was_there() -> None:
    unknown = write(2, 2, 4, 9, "info")

    found = late(write(0, 1, 0, 1), read(1, (None, 0), 2, 3), unknown, commits=log((1, "v0"), (2, "v2")))

    assert found == [("stale-read", 1, [0])]


def on(resource: str, op: Op) -> Op:
    return replace(op, resource=resource)


def matched(operations: Sequence[Op], *commits: tuple[str, int | None, str | None]) -> LogColumns:
    """The log of some operations; a commit has its resource, its token, and no value if it is a fence."""
    log = [
        Commit(seq=seq, resource=resource, token=token, value=value, fence=value is None)
        for seq, (resource, token, value) in enumerate(commits)
    ]
    found = gather(history_of(renumbered(operations)), log, same_run=True).log
    assert found is not None
    return found


@pytest.fixture
def whole() -> LogColumns:
    """Of two resources, each commit with another fate."""
    sent = [
        write(0, 1, 0, 1),
        write(1, 2, 2, 3),
        fenced(write(2, 3, 4, 5)),
        on("r1", write(3, 4, 6, 7)),
        on("r1", write(4, 5, 8, 9)),
    ]
    return matched(
        sent,
        ("r1", 1, "v0"),  # sent to the other resource
        ("r0", 2, "v1"),  # as it was sent
        ("r1", None, "v3"),  # without its token
        ("r0", 3, None),  # a fence, as it was sent
        ("r1", 6, "v4"),  # with another token
        ("r0", 7, "v9"),  # a write that nobody sent
        ("r1", 9, None),  # a fence that nobody sent
    )


def part_of(log: LogColumns, indexes: set[int]) -> LogColumns:
    return log.only(indexes, log._ops)


@pytest.mark.parametrize("is_part", [False, True], ids=["matched", "matched already"])
def test_each_commit_has_what_sent_it(whole: LogColumns, is_part: bool) -> None:
    log = part_of(whole, {entry.op.index for entry in whole.entries}) if is_part else whole
    values = log._ops.columns.values

    assert log.place.tolist() == [1, 3, 5, 0, 2, 4, 6]
    assert log.sender.tolist() == [1, 2, -1, 0, 3, 4, -1]
    assert log.was_sent.tolist() == [True, True, False, True, True, True, False]
    assert log.is_elsewhere.tolist() == [False, False, False, True, False, False, False]
    assert log.row.tolist() == [1, 2, -1, -1, 3, 4, -1]
    assert log.fits.tolist() == [True, True, False, False, False, False, False]
    assert log.token.tolist() == [2, 3, 7, 1, 4, 6, 9]
    assert [None if value == -1 else values[value] for value in log.value] == [
        "v1",
        None,
        None,
        "v0",
        "v3",
        "v4",
        None,
    ]


def test_a_part_of_a_log_keeps_its_order_and_its_entries(whole: LogColumns) -> None:
    unsent = next(each.op.index for each in whole.entries if each.commit.value == "v9")

    part = part_of(whole, {unsent, 3})

    assert [(each.commit.value, each.near and each.near.index) for each in part.entries] == [
        ("v3", 1),
        ("v9", 2),
    ]


def test_nothing_is_left_of_a_log_without_its_operations(whole: LogColumns) -> None:
    nothing = part_of(whole, set())

    assert (list(nothing.entries), nothing.has_fences, nothing.unsent) == ([], True, 0)


def test_what_does_not_fit_belongs_to_its_resource(whole: LogColumns) -> None:
    assert [each.near for each in whole.entries if each.fits] == [None, None]
    assert [each.place for each in whole.unmatched_of["r0"]] == [5]
    assert [each.place for each in whole.unmatched_of["r1"]] == [0, 2, 4, 6]


def test_what_was_sent_last_before_a_write_is_of_its_resource() -> None:
    first, second = write(0, 1, 0, 1), write(1, 2, 2, 3)
    elsewhere = on("r1", write(2, 3, 4, 5))
    log = matched([first, second, elsewhere], ("r0", 1, "v0"), ("r0", 2, "v1"), ("r1", 3, "v2"))
    operations = log._ops

    assert log.sent_last_before(operations[0]) is None
    assert log.sent_last_before(operations[1]) == operations[0]
    assert log.sent_last_before(operations[2]) is None


def test_a_fence_was_sent_to_its_own_resource() -> None:
    fences = [on(f"r{i}", fenced(write(i, 1 if i else 2, 2 * i, 2 * i + 1))) for i in range(4)]

    log = matched(fences, *((f"r{i}", 1 if i else 2, None) for i in range(4)))

    assert log.sender.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("refused", [0, 1])
def test_a_logged_fence_was_sent_by_the_first_that_was_not_refused(refused: int) -> None:
    outcomes = ["stale" if place == refused else "ok" for place in range(3)]
    fences = [fenced(write(i, 1, 2 * i, 2 * i + 1, outcome)) for i, outcome in enumerate(outcomes)]

    assert matched(fences, ("r0", 1, None)).sender.tolist() == [1 - refused]


def test_a_logged_fence_was_sent_by_no_client_without_fences() -> None:
    assert matched([write(0, 1, 0, 1)], ("r0", 1, "v0"), ("r0", 2, None)).sender.tolist() == [0, -1]


def test_only_what_was_logged_on_the_resource_was_sent_before() -> None:
    sent = [write(0, 1, 0, 1), on("r1", write(1, 2, 2, 3))]
    foreign = [("r0", 8, "v8"), ("r1", 9, "v9")]

    log = matched(sent, ("r0", 1, "v0"), foreign[1], ("r1", 2, "v1"))
    assert log.sent_last_before(log._ops[1]) is None

    log = matched(sent, foreign[0], ("r0", 1, "v0"))
    assert log.sent_last_before(log._ops[0]) is None


SENT = write(0, 1, 0, 1), write(1, 2, 2, 3), on("r1", write(2, 3, 4, 5))


@pytest.mark.parametrize(
    ("commits", "near"),
    [
        ([("r1", 1, "v0"), ("r0", 2, "v1"), ("r1", 3, "v2")], 1),
        ([("r0", 1, "v0"), ("r1", 3, "v2"), ("r0", 9, "v9")], 0),
        ([("r0", 1, "v0"), ("r0", 5, "v0")], None),
    ],
    ids=["of the resource it was sent to", "of its resource", "another write"],
)
def test_an_unmatched_commit_is_shown_with_a_write_that_fits(
    commits: list[tuple[str, int | None, str | None]], near: int | None
) -> None:
    (unmatched,) = matched(SENT, *commits).unmatched

    assert (unmatched.near and unmatched.near.index) == near


NEVER_REACHED = 3


@pytest.mark.parametrize(
    ("resource", "token", "at", "above"),
    [
        (0, 0, -1, 0),
        (0, 1, 0, 1),
        (0, 2, 1, NEVER_REACHED),
        (0, 3, NEVER_REACHED, NEVER_REACHED),
        (1, 0, 1, 2),
        (1, 7, 2, NEVER_REACHED),
    ],
)
def test_the_mark_of_a_resource_is_reached_at_its_own_writes(
    resource: int, token: int, at: int, above: int
) -> None:
    sent = [write(0, 1, 0, 1), write(1, 2, 2, 3), on("r1", write(2, 7, 4, 5))]
    commits = [
        Commit(seq=seq, resource=name, token=token, value=f"v{seq}")
        for seq, (name, token) in enumerate([("r0", 1), ("r0", 2), ("r1", 7)])
    ]
    order = ordered(gather(history_of(sent), commits))

    found = [
        int(order.first_mark(np.array([resource]), np.array([token]), above=each)[0])
        for each in (False, True)
    ]

    assert found == [at, above]


def test_refusals_show_only_what_is_not_known_to_be_late_without_them() -> None:
    known = write(0, 1, 6, 7)
    sent = [write(1, 2, 0, 1), write(2, 3, 0, 20, "info"), read(3, ("v1", 2), 8, 9)]
    first, refused = read(5, (None, 0), 0, 0), write(4, 2, 2, 3, "stale")
    operations = renumbered([*sent, first, refused, known])
    order = ordered(gather(history_of(operations), log((1, "v0"), (2, "v1"), (3, "v2"))))

    late = order.late_by_refusals(np.array([3]), np.array([2]))

    assert [operations[row].value for row in order.late.rows] == ["v0"]
    assert [operations[row].value for row in late.rows] == ["v1"]
