"""When the values of a register were there: what reads prove, and what the commit log says of writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fencepost
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.clusters import initial_zone, written_zone
from checkers.facts.evidence import gather
from checkers.history.commit_log import UNRECORDED
from checkers.history.ranks import UNRANKED
from checkers.history.records import Commit, Header, Op
from checkers.rules.non_linearizable.misreads import UNWRITTEN, misreads
from checkers.rules.stale_reads import went_back
from checkers.verdict.judge import judge
from tests.support.appends import append, history
from tests.support.brute_force import fenced, history_of, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.events import event, history_file


def zones(operations: Sequence[Op], commits: Sequence[Commit] | None = None) -> ZoneColumns:
    return zones_of(gather(history_of(renumbered(operations)), commits, same_run=True))


def test_a_read_without_a_token_is_of_the_value_that_it_returned() -> None:
    found = zones([write(0, 1, 0, 1), replace(read(1, ("v0", 1), 2, 3), token=None)])

    assert found.reads.tolist() == [1]


@pytest.mark.parametrize(("commit", "is_wrong"), [((5, "v0"), False), ((1, "v0"), True)])
def test_a_read_of_what_was_stored_with_another_token_is_right(
    commit: tuple[int, str], is_wrong: bool
) -> None:
    operations = [
        write(9, 9, 0, 1),
        *(replace(op, resource="r1") for op in (write(0, 1, 0, 1), read(1, ("v0", 5), 2, 3))),
    ]
    stored = [Commit(seq=0, resource="r1", token=commit[0], value=commit[1])]

    found = zones(operations, [*log((9, "v9")), *stored])

    assert found.wrong_token_reads[0].tolist() == [2] * is_wrong


def test_a_read_of_null_that_was_stored_with_another_token_is_right() -> None:
    found = zones(
        [replace(write(0, 1, 0, 1), value=None), read(1, (None, 5), 2, 3)],
        [Commit(seq=0, resource="r0", token=5, value=None)],
    )

    assert found.wrong_token_reads[0].tolist() == []


def test_what_nobody_sent_to_one_register_excuses_no_read_of_another() -> None:
    unsent = Commit(seq=9, resource="r1", token=7, value="v7")

    found = zones([write(0, 1, 0, 1), read(1, ("v0", 5), 2, 3)], [*log((1, "v0")), unsent])

    assert found.wrong_token_reads[0].tolist() == [1]


def test_only_an_acknowledged_logged_write_was_there_when_it_returned() -> None:
    operations = [
        write(0, 1, 0, 1),
        write(1, 2, 2, 3, "info"),
        write(2, 3, 4, 5, "stale"),
        write(3, 4, 6, 7),
        read(4, ("v3", 4), 8, 9),
    ]

    found = zones(operations, log((1, "v0"), (2, "v1"), (3, "v2")))

    own = found.ranks.returned
    assert found.settled.tolist() == [found.ranks.start[0], own[0], UNRANKED, UNRANKED, own[4]]


def test_the_first_read_of_a_write_is_that_called_first() -> None:
    found = zones(
        [write(0, 1, 0, 1), read(1, ("v0", 1), 4, 5), read(2, ("v0", 1), 2, 3), write(3, 2, 6, 7, "info")]
    )

    assert [op.called for op in found.first_read_of_write(0)] == [2]
    assert found.first_read_of_write(3) == ()


def test_a_read_of_a_value_that_nobody_wrote_has_no_write_to_show() -> None:
    (found,) = misreads(zones([read(0, ("v9", 1), 0, 1), write(1, 2, 2, 3)]))

    assert (found.accused.index, found.because) == (0, ())


def test_the_first_operation_can_be_marked_and_an_unrecorded_one_cannot() -> None:
    found = zones([write(0, 1, 0, 1), write(1, 2, 2, 3)])
    unrecorded = replace(write(0, 9, 0, 1), index=UNRECORDED)

    assert found.recorded.flags_of([found.ops[0], unrecorded]).tolist() == [True, False]


def test_one_value_precedes_another_only_if_settled_before_its_last_call() -> None:
    zone = written_zone(write(0, 1, 0, 5), [], acknowledged=True)
    touching = written_zone(write(1, 2, 5, 6), [], acknowledged=True)
    later = written_zone(write(1, 2, 6, 7), [], acknowledged=True)

    assert zone.surely_before(later)
    assert not zone.surely_before(touching)


def test_only_going_back_to_a_lower_token_is_a_stale_read() -> None:
    seen = read(2, ("v0", 1), 6, 9)
    low = written_zone(write(0, 1, 0, 1), [seen], acknowledged=True)
    high = written_zone(write(1, 2, 2, 5), [], acknowledged=True)
    level = replace(high, token=1)

    assert (went_back(low, high).anomaly, went_back(low, high).accused) == ("stale-read", seen)
    assert went_back(low, level).anomaly == "non-linearizable"
    assert went_back(replace(low, token=3), high).anomaly == "non-linearizable"


def test_an_unacknowledged_write_is_settled_by_its_reads() -> None:
    failed = replace(write(0, 1, 0, 2, "stale"), index=0)
    seen = read(1, ("v0", 1), 3, 9)

    zone = written_zone(failed, [seen], acknowledged=False)

    assert (zone.settled, zone.settled_by, zone.proof) == (9, seen, (failed, seen))
    assert (zone.claimed, zone.claimed_by) == (3, seen)


@pytest.mark.parametrize("seen", [("x", 0), (None, 5)], ids=str)
def test_a_read_is_of_the_initial_value_only_with_its_value_and_its_token(seen: tuple[Any, ...]) -> None:
    (misread,) = misreads(zones([read(0, seen, 0, 1)]))

    assert misread.breach is UNWRITTEN


def test_an_unanswered_write_without_a_token_hides_nothing_later() -> None:
    unsent = replace(write(0, 0, 0, 1, "info"), token=None)

    found = zones([unsent, write(1, 4, 2, 3), write(2, 5, 4, 5, "info")])

    assert found.token.tolist() == [0, 4]
    assert found.optional.tolist() == [2]
    assert found.bare == len(found.level)


def test_with_a_log_exactly_its_writes_took_effect() -> None:
    operations = renumbered([write(0, 1, 0, 1), write(1, 2, 2, 3), write(2, 3, 4, 5, "info")])

    found = zones_of(gather(history_of(operations), log((1, "v0"), (3, "v2"))))

    assert found.token.tolist() == [0, 1, 3]
    assert [found.zone(place).settled for place in (1, 2)] == [1, float("inf")]
    assert found.optional.tolist() == [1]


def test_a_read_that_returned_when_its_write_was_called_may_have_seen_it(tmp_path: Path) -> None:
    seen = {"token": 1, "value": "v0"}
    path = history_file(
        tmp_path / "history.jsonl",
        event(1, "invoke", 1, "r0"),
        event(2, "ok", 1, "r0") | seen,
        event(2, "invoke", 0, "r0", "v0"),
        event(3, "ok", 0, "r0", "v0"),
    )

    assert judge(fencepost.read(path)).findings == ()


@pytest.mark.parametrize(("returned", "reads"), [(2, [0]), (1, [])])
def test_a_read_can_only_have_seen_what_was_called_by_its_return(returned: int, reads: list[int]) -> None:
    assert zones([read(0, ("v1", 1), 0, returned), write(1, 1, 2, 3)]).reads.tolist() == reads


def test_a_value_that_returns_over_a_higher_token_is_a_stale_read(tmp_path: Path) -> None:
    lines = [
        event(1, "invoke", 0, "r0", "v1") | {"token": 1},
        event(2, "invoke", 1, "r0", "v2") | {"token": 2},
    ]
    for i, token in enumerate((1, 2, 1)):
        seen = {"token": token, "value": f"v{token}"}
        lines += [event(10 * i + 10, "invoke", 2, "r0"), event(10 * i + 11, "ok", 2, "r0") | seen]

    verdict = judge(fencepost.read(history_file(tmp_path / "history.jsonl", *lines)))

    assert [(each.anomaly, each.operations[-1]) for each in verdict.findings] == [("stale-read", 9)]


@pytest.mark.parametrize("seen", [{"token": 5, "value": None}, {"token": 0, "value": "x"}], ids=str)
def test_the_initial_value_has_the_initial_token(tmp_path: Path, seen: dict[str, Any]) -> None:
    path = history_file(
        tmp_path / "history.jsonl", event(1, "invoke", 1, "r0"), event(2, "ok", 1, "r0") | seen
    )

    assert [each.anomaly for each in judge(fencepost.read(path)).findings] == ["non-linearizable"]


def test_no_value_surely_precedes_an_initial_one_that_nobody_read() -> None:
    before = initial_zone(Header(target="t"), [])

    assert not written_zone(write(0, 1, 0, 1), [], acknowledged=True).surely_before(before)


def test_a_list_that_was_built_on_an_unanswered_append_settles_it() -> None:
    unanswered = append(0, 1, 1, None, "a", "info")
    reader = append(4, 6, 2, "a", "b")
    found = zones_of(gather(history(unanswered, reader)))

    assert [op.element for op in (found.ops[int(row)] for row in found.write)] == ["a", "b"]
    assert [found.zone(place).settled for place in (1, 2)] == [6, 6]


@pytest.mark.parametrize(
    ("refused", "commits"),
    [
        (replace(fenced(write(0, 5, 0, 1, "stale")), token=None), None),
        (fenced(write(0, 5, 0, 1, "stale")), log((5, None))),
    ],
    ids=["without a token", "logged all the same"],
)
def test_a_fence_that_no_mark_can_have_refused_was_not_rejected(refused: Op, commits: list[Commit]) -> None:
    assert zones([refused, write(1, 1, 2, 3)], commits).rejected.tolist() == []
