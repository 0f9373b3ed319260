"""A value's zone: which operations prove when it was there, on literal registers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fencepost
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.clusters import written_zone
from checkers.facts.evidence import gather
from checkers.history.records import Op
from checkers.rules.non_linearizable.misreads import UNWRITTEN, misreads
from checkers.rules.stale_reads import went_back
from checkers.verdict.judge import judge
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.events import event, history_file


def zones(*operations: Op) -> ZoneColumns:
    return zones_of(gather(history_of(renumbered(operations))))


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
    (misread,) = misreads(zones(read(0, seen, 0, 1)))

    assert misread.breach is UNWRITTEN


def test_an_unanswered_write_without_a_token_hides_nothing_later() -> None:
    unsent = replace(write(0, 0, 0, 1, "info"), token=None)

    found = zones(unsent, write(1, 4, 2, 3), write(2, 5, 4, 5, "info"))

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
