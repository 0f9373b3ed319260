"""What clients saw is judged with what the commit log knows: literal cases, each with the names it must have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from checkers.history.reader import parse
from checkers.history.records import Commit, Header, Op
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity, Verdict
from tests.support.brute_force import fenced as fence
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.events import struck
from tests.support.in_columns import in_columns, lines_of

CUT = ("the last line is only half written",)


def judged(
    operations: Sequence[Op], commits: list[Commit] | None, *, cut: bool = False, **header: Any
) -> Verdict:
    """Judge it as objects and as columns, which must say the same."""
    header = {"require": {}} | header
    known = history_of(renumbered(operations))
    known = replace(known, header=Header(target="t", **header), notices=CUT if cut else ())
    verdict = judge(known, commits)
    if not cut:
        lines = lines_of(known.operations, **header)
        plain, columns = judge(parse(lines), commits), judge(in_columns(lines), commits)
        assert names(columns) == names(plain) == names(verdict)
        assert [each.steps for each in columns.findings] == [each.steps for each in plain.findings]
    assert not [reason for reason in verdict.reasons if "crash" in reason]
    assert not [each.account.doubt for each in verdict.findings if each.account.doubt]
    return verdict


def names(verdict: Verdict) -> list[str]:
    """The anomalies that were found, each once."""
    return sorted({name for each in verdict.findings for name in (each.anomaly, *each.also)})


REFUSED_FOR_NOTHING = (write(0, 1, 1, 9, "info"), write(1, 1, 3, 4, "stale"), read(2, (None, 0), 5, 6))


def test_a_later_fence_that_nothing_depends_on_hides_no_violation() -> None:
    alone = judged(REFUSED_FOR_NOTHING, None)
    later = judged((*REFUSED_FOR_NOTHING, fence(write(3, 9, 20, 21))), None)

    assert names(alone) == names(later) == ["non-linearizable"]


@pytest.mark.parametrize(
    ("token", "called", "excuses"), [(1, 4, True), (1, 5, False), (0, 2, False), (9, 2, True)]
)
def test_only_a_sufficient_fence_called_in_time_excuses_a_rejection(
    token: int, called: int, excuses: bool
) -> None:
    verdict = judged((*REFUSED_FOR_NOTHING, fence(write(3, token, called, 21))), None)

    assert names(verdict) == ([] if excuses else ["non-linearizable"])


def test_the_fences_of_the_log_decide() -> None:
    operations = (*REFUSED_FOR_NOTHING, fence(write(3, 9, 2, 21)))

    in_time = judged(operations, log((9, None)))
    never = judged(operations, log((1, "v0"), (9, None)))

    assert names(in_time) == []
    assert names(never) == ["non-linearizable"]


def test_a_write_after_a_fence_of_the_log_is_stale() -> None:
    fenced, late, level = fence(write(0, 5, 0, 1)), write(1, 4, 0, 9), write(2, 5, 0, 9)

    assert names(judged([fenced, late], log((5, None), (4, "v1")))) == ["stale-write"]
    assert names(judged([fenced, late], log((4, "v1"), (5, None)))) == []
    assert names(judged([fenced, level], log((5, None), (5, "v2")))) == ["stale-write"]
    assert names(judged([fenced, level], log((5, None), (5, "v2")), policy="inclusive")) == []


def test_an_acknowledged_fence_that_the_log_lacks_was_never_stored() -> None:
    first, second, late = fence(write(0, 3, 0, 1)), fence(write(1, 5, 2, 3)), write(2, 4, 4, 5)

    assert names(judged([first, second, late], log((3, None), (4, "v2")))) == ["phantom-accept"]
    assert names(judged([first, replace(second, token=3)], log((3, None)))) == []


def test_a_fence_that_a_lost_write_had_overtaken_was_not_phantom() -> None:
    first, lost, seen = fence(write(0, 1, 1, 2)), write(1, 3, 3, 4), read(2, ("v1", 3), 5, 6)

    def found(fenced: Op) -> list[str]:
        return names(judged([first, lost, seen, fence(fenced)], log((1, None)), policy="inclusive"))

    assert found(write(3, 3, 7, 8)) == found(write(3, 2, 3, 3)) == ["lost-write"]
    assert found(write(3, 4, 7, 8)) == ["lost-write", "phantom-accept"]
    assert found(write(3, 3, 1, 2)) == ["lost-write", "phantom-accept"]
    elsewhere = [replace(op, resource="r1") for op in (lost, seen)]
    alone = judged([first, *elsewhere, fence(write(3, 3, 7, 8))], log((1, None)), policy="inclusive")
    assert names(alone) == ["lost-write", "phantom-accept"]


def test_an_acknowledged_fence_that_the_log_lacks_excuses_a_refusal() -> None:
    first, lacking, refused = fence(write(0, 1, 0, 1)), fence(write(1, 3, 6, 8)), write(2, 2, 7, 9, "stale")

    assert names(judged([first, lacking, refused], log((1, None)))) == ["phantom-accept"]


def test_a_fence_that_found_its_token_reached_excuses_no_earlier_refusal() -> None:
    first, after, refused = fence(write(0, 1, 0, 1)), fence(write(1, 3, 2, 10)), write(2, 2, 4, 5, "stale")
    operations = [first, after, refused, write(3, 3, 8, 9)]

    assert names(judged(operations, log((1, None), (3, "v3")), policy="inclusive")) == ["false-rejection"]


def test_an_unsent_fence_raises_the_mark_and_is_reported() -> None:
    accepted, late = write(0, 1, 0, 1), write(1, 2, 2, 3)

    verdict = judged([accepted, late], log((1, "v0"), (5, None), (2, "v1")))

    assert names(verdict) == ["non-linearizable", "stale-write"]


def test_a_rejection_with_a_logged_cause_is_correct() -> None:
    operations = [write(0, 1, 0, 9, "info"), write(1, 1, 1, 2, "stale"), write(2, 1, 3, 4)]

    assert names(judged(operations, log((1, "v0"), (1, "v2")))) == ["stale-write"]


def test_a_read_after_either_place_of_a_twice_logged_write_is_right() -> None:
    operations = [write(0, 1, 1, 2), write(1, 1, 3, 4), read(2, ("v0", 1), 5, 6)]

    verdict = judged(operations, log((1, "v0"), (1, "v1"), (1, "v0")), policy="inclusive")

    assert names(verdict) == ["duplicate-write"]


def test_reads_after_both_places_of_a_write_must_still_agree() -> None:
    operations = [
        write(0, 1, 1, 2),
        write(1, 1, 3, 4),
        read(2, ("v0", 1), 5, 6),
        read(3, ("v1", 1), 7, 8),
    ]

    verdict = judged(operations, log((1, "v0"), (1, "v1"), (1, "v0")), policy="inclusive")

    assert names(verdict) == ["duplicate-write", "non-linearizable"]


def test_an_acknowledged_write_not_in_the_log_is_only_a_phantom() -> None:
    operations = [write(0, 34, 1, 2), write(1, 33, 3, 4)]

    assert names(judged(operations, log((34, "v0")))) == ["phantom-accept"]


def test_a_log_against_real_time_says_so() -> None:
    operations = [write(0, 1, 1, 2), write(1, 2, 3, 4)]

    verdict = judged(operations, log((2, "v1"), (1, "v0")), policy="inclusive", fenced=False)

    assert names(verdict) == ["non-linearizable", "stale-write"]
    (found,) = [each for each in verdict.findings if each.anomaly == "non-linearizable"]
    assert "own order puts it before" in found.summary


def test_a_read_is_not_accused_of_a_write_that_was_sent_only_after_it() -> None:
    first, before, late = fence(write(0, 2, 1, 2)), read(1, (None, 0), 3, 4), write(2, 3, 5, 6)

    assert names(judged([first, before, late], log((3, "v2"), (2, None)))) == ["non-linearizable"]
    assert names(judged([first, before, replace(late, called=4)], log((3, "v2"), (2, None)))) == [
        "non-linearizable",
        "stale-read",
    ]


def test_unmatched_commits_of_a_cut_history_raise_the_mark() -> None:
    operations = [write(0, 1, 1, 2), write(1, 2, 3, 4)]
    order = log((1, "v0"), (3, "nobody's"), (2, "v1"))

    cut, whole = judged(operations, order, cut=True), judged(operations, order)

    assert names(cut) == ["stale-write"]
    assert (cut.findings[0].accused, cut.validity) == (1, Validity.INVALID)
    assert names(whole) == ["non-linearizable", "stale-write"]


def test_an_unmatched_commit_below_the_mark_is_stale_itself() -> None:
    verdict = judged([write(0, 5, 1, 2)], log((5, "v0"), (3, "nobody's")))

    assert names(verdict) == ["non-linearizable", "stale-write"]


def test_an_unsent_write_without_a_token_is_unfenced() -> None:
    assert names(judged([write(0, 5, 1, 2)], log((5, "v0"), (None, "nobody's")))) == ["unfenced-write"]


def test_a_log_that_matches_nothing_is_evidence_in_its_runs_folder() -> None:
    history = replace(history_of(renumbered([write(0, 1, 0, 1)])), header=Header(target="t", require={}))

    verdict = judge(history, log((1, "x")), same_run=True)

    assert names(verdict) == ["non-linearizable", "phantom-accept"]
    with pytest.raises(HistoryError, match="another run"):
        judge(history, log((1, "x")))


def test_a_write_lost_in_a_restart_may_have_caused_a_rejection() -> None:
    kill = [json.dumps(event) + "\n" for event in struck("kill", "storage", 6, 7)]
    operations = renumbered([write(0, 5, 1, 9, "info"), write(1, 3, 2, 3, "stale"), write(2, 6, 20, 21)])
    lines = lines_of(operations, require={})
    events = sorted([*lines[1:], *kill], key=lambda line: json.loads(line)["time"])
    order = log((6, "v2"))

    assert names(judge(parse([lines[0], *events]), order)) == []
    assert names(judge(parse(lines), order)) == ["false-rejection"]


@pytest.mark.parametrize("seen", [True, False])
def test_of_two_writes_with_one_token_the_certain_second_is_accused(seen: bool) -> None:
    operations = [write(0, 2, 1, 9), write(1, 2, 3, 4), read(2, ("v0", 2), 5, 6)]

    (finding,) = judged(operations if seen else operations[:2], None).findings

    assert finding.accused == (0 if seen else 1)
    assert finding.summary.startswith(f"process {finding.accused} wrote 'v{finding.accused}'")
    assert "was accepted with the same token" in finding.summary  # both are: no order is claimed


def test_an_unknown_write_read_after_one_of_its_token_came_second() -> None:
    operations = [write(0, 2, 1, 9, "info"), write(1, 2, 3, 4), read(2, ("v0", 2), 5, 6)]

    (finding,) = judged(operations, None).findings

    assert (finding.anomaly, finding.accused) == ("stale-write", 0)
    assert "'v0'" in finding.summary
    assert "after the storage had accepted 'v1'" in finding.summary


def test_with_an_unlimited_grace_no_lock_is_stuck() -> None:
    lines = [
        '{"fencepost":1,"target":"t","grace":9223372036854775807,"require":{"stale_writes_attempted":0}}\n',
        '{"time":1,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"a"}\n',
        (
            '{"time":5,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"a","token":1,"ttl":5,'
            '"attempt":4}\n'
        ),
    ]

    assert judge(in_columns(lines)).validity is judge(parse(lines)).validity is Validity.VALID


@pytest.mark.parametrize(
    ("header", "operations", "commits"),
    [
        (
            {"policy": "inclusive"},
            (write(0, 1, 1, 2), fence(write(1, 1, 3, 4)), write(2, 1, 5, 6)),
            log((1, "v0"), (1, "v2"), (1, None)),
        ),
        (
            {"policy": "inclusive", "initial_token": 1},
            (fence(write(0, 1, 3, 4)), write(1, 2, 5, 6)),
            log((2, "v1"), (1, None)),
        ),
    ],
)
def test_a_fence_that_raises_nothing_has_its_place_too(
    header: dict[str, Any], operations: tuple[Op, ...], commits: list[Commit]
) -> None:
    assert names(judged(operations, commits, **header)) == ["non-linearizable"]


def test_a_storage_may_log_only_the_fences_that_raise_its_mark() -> None:
    operations = (write(0, 1, 1, 2), fence(write(1, 1, 3, 4)), write(2, 1, 5, 6), fence(write(3, 2, 7, 8)))

    assert not names(judged(operations, log((1, "v0"), (1, "v2"), (2, None)), policy="inclusive"))
