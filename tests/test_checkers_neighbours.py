"""Rules that differ from others in one moment, one row or one resource, told apart by literal histories."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checkers import history, judge, read
from checkers.columnar.columns import Operations
from checkers.columnar.ranks import Summit, rank
from checkers.columnar.register_columns import register_columns
from checkers.double_beliefs import double_beliefs
from checkers.early_grants import early_grants
from checkers.evidence import Evidence
from checkers.grants import token_regressions
from checkers.highwater import HighWater
from checkers.judgement import Clash, Contradiction
from checkers.leases import lease_of
from checkers.mutex import judge_mutex
from checkers.operation import Operation
from checkers.reading import column_cache
from checkers.records import Header, History, Op, Outcome
from checkers.register import judge_register
from checkers.verdict import Validity


def acquire(index: int, owner: str, token: int, called: int, returned: int, ttl: int | None = None) -> Op:
    return Op(
        index=index,
        process=index,
        f="acquire",
        resource="r0",
        called=called,
        returned=returned,
        outcome=Outcome.OK,
        owner=owner,
        token=token,
        ttl=ttl,
    )


def locks(*operations: Op) -> Evidence:
    return Evidence(history=History(header=Header(target="test"), operations=operations))


@pytest.mark.parametrize(("sent", "accused"), [(10, [(1, 0)]), (11, [(2, 1)])])
def test_a_grant_sent_after_the_other_returned_is_the_later_one(sent, accused):
    evidence = locks(
        acquire(0, "b", token=3, called=0, returned=5, ttl=100),
        acquire(1, "a", token=5, called=1, returned=10, ttl=50),
        acquire(2, "b", token=4, called=sent, returned=20),
    )

    assert [(each.accused.index, each.because[0].index) for each in early_grants(evidence)] == accused


def test_a_shorter_lease_counts_too_up_to_its_end():
    def early(ttl: int) -> list[int]:
        evidence = locks(
            acquire(0, "b", token=3, called=0, returned=5, ttl=100),
            acquire(1, "a", token=5, called=1, returned=10, ttl=ttl),
            acquire(2, "b", token=4, called=11, returned=20),
        )
        return [each.accused.index for each in early_grants(evidence)]

    assert early(ttl=19) == []
    assert early(ttl=20) == [2]


def test_the_token_0_is_below_the_token_1():
    evidence = locks(
        acquire(0, "a", token=1, called=0, returned=1),
        acquire(1, "x", token=0, called=2, returned=3),
        acquire(2, "y", token=1, called=4, returned=5),
        acquire(3, "a", token=1, called=10, returned=11),
    )

    regressions = [(each.accused.index, each.because[0].index) for each in token_regressions(evidence)]

    assert regressions == [(1, 0), (2, 0), (3, 2)]


def test_a_lock_that_is_searched_is_searched_within_its_budget():
    nested = [
        Operation(f="acquire", input="a", called=2 * i, returned=2 * i + 1, outcome=Outcome.OK)
        for i in range(2)
    ]

    judgement = judge_mutex([*nested, Operation(f="release", input="a", called=9, returned=10)], budget=0)

    assert (judgement.method, judgement.validity) == ("search", Validity.UNKNOWN)


def test_a_chain_is_held_against_time_though_another_chain_went_before_it():
    operations = [
        Operation(f="cas", input=(None, 1), called=0, returned=1),
        Operation(f="cas", input=(10, 11), called=50, returned=51),
        Operation(f="write", input=10, called=100, returned=101),
    ]

    judgement = judge_register(operations)

    assert judgement.conflicts == (Clash(contradiction=Contradiction.CHAIN_AGAINST_TIME, operations=(1, 2)),)


def event(time: int, kind: str, process: int, resource: str, value: str | None = None) -> dict[str, object]:
    f = "read" if value is None else "write"
    told = {"token": 1, "value": value} if f == "write" or kind == "ok" else {}
    return {"time": time, "type": kind, "process": process, "f": f, "resource": resource} | told


def written(path: Path, *events: dict[str, object]) -> Path:
    lines = [{"fencepost": 1, "target": "t"}, *events]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def two_registers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On each register a write, and a read that is called when the write returns."""
    monkeypatch.setattr(history, "LONG", 0)
    return written(
        tmp_path / "history.jsonl",
        event(1, "invoke", 0, "r0", "v0"),
        event(1, "invoke", 1, "r1", "v1"),
        event(2, "ok", 0, "r0", "v0"),
        event(2, "invoke", 2, "r0"),
        event(2, "ok", 1, "r1", "v1"),
        event(2, "invoke", 3, "r1"),
        event(3, "ok", 2, "r0", None),
        event(4, "ok", 3, "r1", None),
    )


def test_times_are_ranked_register_by_register_and_equal_times_alike(two_registers: Path):
    operations = read(two_registers).operations
    assert isinstance(operations, Operations)

    ranks = rank(operations.columns)

    assert ranks.start.tolist() == [1, 5]
    assert ranks.called.tolist() == [2, 6, 3, 7]
    assert ranks.returned.tolist() == [3, 7, 4, 8]


def test_operations_in_columns_are_a_sequence_that_keeps_what_it_made(two_registers: Path):
    operations = read(two_registers).operations
    plain = tuple(operations)

    assert read(two_registers).operations[2] == plain[2]
    assert operations[::2] == plain[::2]
    assert operations[::-1] == plain[::-1]
    assert operations[1:3] == plain[1:3]
    assert [operations[at] for at in (0, 3, -1)] == [plain[0], plain[3], plain[3]]
    assert operations[2] is operations[2]


class Mischief:
    """Makes a folder where somebody unpickles it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self._folder),)


def test_nothing_that_lies_beside_a_history_is_run(two_registers: Path):
    cache = two_registers.parent
    header = read(two_registers, cache=cache).header
    (file,) = cache.glob("*.npz")
    with np.load(file) as arrays:
        kept = dict(arrays)
    made = two_registers.parent / "made"
    np.savez(file, **(kept | {"f": np.array([Mischief(made)], dtype=object)}))

    assert column_cache.kept(cache, file.name.partition("-")[0], header, "h") is None
    assert not made.exists()


def test_what_ended_when_the_next_was_sent_may_be_one_hold_with_it():
    first = acquire(0, "a", token=5, called=0, returned=1)
    release = replace(first, index=1, f="release", token=None, called=2, returned=4)
    again = acquire(2, "a", token=5, called=4, returned=6)
    later = acquire(2, "a", token=5, called=5, returned=6)

    assert list(token_regressions(locks(first, release, again))) == []
    assert [each.accused for each in token_regressions(locks(first, release, later))] == [later]


def test_the_token_0_tells_the_order_of_grants_too():
    evidence = locks(
        acquire(0, "a", token=0, called=0, returned=10, ttl=100),
        acquire(1, "b", token=1, called=5, returned=20),
    )

    assert [each.accused.index for each in early_grants(evidence)] == [1]


def test_where_a_token_repeats_real_time_alone_orders_grants():
    evidence = locks(
        acquire(0, "b", token=3, called=0, returned=5, ttl=100),
        acquire(1, "a", token=4, called=1, returned=10, ttl=50),
        acquire(2, "b", token=4, called=8, returned=20),
    )

    assert list(early_grants(evidence)) == []


def test_a_promise_is_proven_by_the_renew_that_made_it_and_by_nothing_else():
    grant = acquire(0, "a", token=1, called=0, returned=1, ttl=10)
    renew = replace(grant, index=1, f="renew", token=None, called=5, returned=6)
    early = acquire(2, "b", token=2, called=8, returned=9)
    late = acquire(2, "b", token=2, called=11, returned=12)

    (by_grant,) = early_grants(locks(grant, early))
    (by_renew,) = early_grants(locks(grant, renew, late))

    assert by_grant.because == (grant,)
    assert by_renew.because == (grant, renew)


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_who_has_begun_to_give_the_lock_back_no_longer_believes_to_hold_it(end: str):
    grant = acquire(0, "a", token=1, called=0, returned=1)
    given_back = replace(grant, index=1, f=end, token=None, called=5, returned=9)
    during = acquire(2, "b", token=2, called=2, returned=4)
    after = acquire(2, "b", token=2, called=2, returned=6)

    assert [each.accused for each in double_beliefs(locks(grant, given_back, during))] == [during]
    assert list(double_beliefs(locks(grant, given_back, after))) == []


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_a_hold_that_was_ended_is_another_one_than_the_next(end: str):
    first = acquire(0, "a", token=5, called=0, returned=1)
    ended = replace(first, index=1, f=end, token=None, called=2, returned=3)
    again = acquire(2, "a", token=5, called=4, returned=5)

    assert [each.accused for each in token_regressions(locks(first, ended, again))] == [again]


@pytest.mark.parametrize("end", ["release", "revoke"])
def test_a_lease_is_promised_up_to_its_end_or_until_it_is_given_back(end: str):
    grant = acquire(0, "a", token=5, called=0, returned=1, ttl=10)
    given_back = replace(grant, index=1, f=end, token=None, ttl=None, called=5, returned=6)
    before_the_end = acquire(2, "b", token=4, called=2, returned=9)
    at_the_end = acquire(2, "b", token=4, called=2, returned=10)

    assert [each.accused for each in early_grants(locks(grant, before_the_end))] == [before_the_end]
    assert list(early_grants(locks(grant, at_the_end))) == []
    assert list(early_grants(locks(grant, given_back, before_the_end))) == []


def test_a_ttl_counts_that_may_have_been_the_last_one_that_the_service_saw():
    grant = acquire(0, "a", token=1, called=0, returned=5, ttl=3)
    renew = replace(grant, index=1, f="renew", token=None, called=5, returned=6, ttl=8)
    later = replace(renew, called=6, returned=7)

    assert lease_of(grant, [grant, renew]).end == 8
    assert lease_of(grant, [grant, later]).end == 14


def test_of_two_beliefs_the_one_that_began_later_is_told_with_the_other():
    one = acquire(0, "a", token=1, called=0, returned=1)
    other = acquire(1, "b", token=2, called=0, returned=0)
    release = replace(other, index=2, f="release", token=None, called=2, returned=3)

    (conflict,) = double_beliefs(locks(one, other, release))

    assert (conflict.accused, conflict.because) == (one, (other,))


def test_who_gives_the_lock_back_at_time_1_believed_to_hold_it_at_time_0():
    one = acquire(0, "a", token=1, called=0, returned=0)
    other = acquire(1, "b", token=2, called=0, returned=0)
    release = replace(one, index=2, f="release", token=None, called=1, returned=3)

    assert [each.accused for each in double_beliefs(locks(one, other, release))] == [other]


def test_belief_may_end_at_time_0():
    grant = acquire(0, "a", token=1, called=0, returned=0)
    lost = replace(grant, index=1, f="renew", token=None, outcome=Outcome.FAIL)
    other = acquire(2, "b", token=2, called=0, returned=0)

    assert list(double_beliefs(locks(grant, lost, other))) == []


def test_a_hold_is_not_ended_by_a_release_that_failed_or_by_an_acquire():
    first = acquire(0, "a", token=5, called=0, returned=1)
    refused = replace(first, index=1, f="release", token=None, called=2, returned=3, outcome=Outcome.FAIL)
    again = acquire(2, "a", token=5, called=4, returned=5)
    once_more = acquire(3, "a", token=5, called=7, returned=8)

    assert list(token_regressions(locks(first, refused, again, once_more))) == []


def test_tokens_tell_the_order_of_a_grant_that_returned_when_the_other_was_sent():
    evidence = locks(
        acquire(0, "b", token=2, called=0, returned=10),
        acquire(1, "a", token=1, called=10, returned=20, ttl=100),
    )

    assert [each.accused.index for each in early_grants(evidence)] == [0]


def test_of_equal_heights_the_earliest_counts_and_nothing_else_is_compared():
    first, second, third = object(), object(), object()
    water = HighWater([(1, 7, first), (1, 7, second), (2, 7, third)])

    assert water.before(1) is None
    assert water.before(2) == (7, first)
    assert water.before(3) == (7, first)


def test_only_a_cas_expects_something():
    operations = [
        Operation(f="write", input=1, called=0, returned=1),
        Operation(f="cas", input=(1, 2), called=2, returned=3),
        Operation(f="read", output=2, called=4, returned=5),
    ]

    columns = register_columns(operations, range(3))

    assert columns.kind.dtype == np.int8
    assert columns.value.tolist() == [1, 2, 2]
    assert columns.expected.tolist() == [-1, 1, -1]
    assert columns.values == 3


def test_many_questions_are_answered_as_one():
    ranks, heights = np.arange(2, 62, 3), np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3] * 2)
    summit = Summit(64, ranks, heights)
    asked = np.arange(3, 63)

    assert summit.entries_before(asked).tolist() == [
        summit.entries_before(asked[i : i + 1])[0] for i in range(60)
    ]
    assert summit.entries_before(np.array([3, 5, 6, 11, 12, 62])).tolist() == [0, 0, 0, 2, 2, 5]
    assert summit.entries_before(asked[:0]).dtype == np.int64


def test_lines_of_one_register_are_ranked_by_the_first_of_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(history, "LONG", 0)
    pause = {
        "time": 2,
        "process": "nemesis",
        "type": "info",
        "f": "pause",
        "value": {"target": "c", "state": "in force"},
    }
    path = written(
        tmp_path / "history.jsonl",
        event(1, "invoke", 0, "r0", "v0"),  # line 2
        event(2, "ok", 0, "r0", "v0"),
        event(2, "invoke", 1, "r0"),
        pause,
        event(2, "ok", 1, "r0"),
        event(3, "invoke", 1, "r0"),  # line 7
        event(4, "ok", 1, "r0"),
        event(4, "invoke", 1, "r0"),
        event(5, "ok", 1, "r0"),
    )
    operations = read(path).operations
    assert isinstance(operations, Operations)

    ranks = rank(operations.columns)

    assert ranks.start.tolist() == [0]
    assert ranks.called.tolist() == [2, 3, 7, 8]
    assert ranks.returned.tolist() == [3, 3, 8, 10]


def test_a_read_that_returned_when_its_write_was_called_may_have_seen_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(history, "LONG", 0)
    seen = {"token": 1, "value": "v0"}
    path = written(
        tmp_path / "history.jsonl",
        event(1, "invoke", 1, "r0"),
        event(2, "ok", 1, "r0") | seen,
        event(2, "invoke", 0, "r0", "v0"),
        event(3, "ok", 0, "r0", "v0"),
    )

    assert judge(read(path)).findings == ()


def test_a_value_that_comes_back_over_one_with_a_higher_token_is_a_stale_read(tmp_path: Path):
    lines = [
        event(1, "invoke", 0, "r0", "v1") | {"token": 1},
        event(2, "invoke", 1, "r0", "v2") | {"token": 2},
    ]
    for i, token in enumerate((1, 2, 1)):
        seen = {"token": token, "value": f"v{token}"}
        lines += [event(10 * i + 10, "invoke", 2, "r0"), event(10 * i + 11, "ok", 2, "r0") | seen]

    verdict = judge(read(written(tmp_path / "history.jsonl", *lines)))

    assert [(each.anomaly, each.operations[-1]) for each in verdict.findings] == [("stale-read", 9)]


@pytest.mark.parametrize("seen", [{"token": 5, "value": None}, {"token": 0, "value": "x"}], ids=str)
def test_the_initial_value_has_the_initial_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen):
    monkeypatch.setattr(history, "LONG", 0)
    path = written(tmp_path / "history.jsonl", event(1, "invoke", 1, "r0"), event(2, "ok", 1, "r0") | seen)

    assert [each.anomaly for each in judge(read(path)).findings] == ["non-linearizable"]


def test_a_register_begins_with_its_initial_value():
    seen = [Operation(f="read", output=5, called=0, returned=1)]

    assert judge_register(seen, initial=5).validity is Validity.VALID
    assert judge_register(seen).validity is Validity.INVALID
