"""Rules that differ from others in one moment, one row or one resource, told apart by literal histories."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from checkers import column_cache, history, read
from checkers.columns import Operations
from checkers.evidence import Evidence
from checkers.grants import token_regressions
from checkers.judgement import Clash, Contradiction
from checkers.leases import early_grants
from checkers.mutex import judge_mutex
from checkers.operation import Operation
from checkers.ranks import rank
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


def test_a_grant_sent_when_the_other_returned_is_not_the_later_one():
    evidence = locks(
        acquire(0, "b", token=3, called=0, returned=5, ttl=100),
        acquire(1, "a", token=5, called=1, returned=10, ttl=50),
        acquire(2, "b", token=4, called=10, returned=20),
    )

    assert [each.accused.index for each in early_grants(evidence)] == [1]


def test_a_grant_sent_just_after_the_other_returned_is_the_later_one():
    evidence = locks(
        acquire(0, "b", token=3, called=0, returned=5, ttl=100),
        acquire(1, "a", token=5, called=1, returned=10, ttl=50),
        acquire(2, "b", token=4, called=11, returned=20),
    )

    found = [(each.accused.index, each.because[0].index) for each in early_grants(evidence)]

    assert found == [(1, 0), (2, 1)]


def test_the_token_0_is_below_the_token_1():
    evidence = locks(
        acquire(0, "a", token=5, called=0, returned=1),
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
    assert ranks.end.tolist() == [4, 8]
    assert ranks.called.tolist() == [2, 6, 3, 7]
    assert ranks.returned.tolist() == [3, 7, 4, 8]


class Mischief:
    """Makes a folder where somebody unpickles it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self._folder),)


def test_nothing_that_lies_beside_a_history_is_run(two_registers: Path):
    read(two_registers, keep_columns=True)
    cache = two_registers.parent / column_cache.NAME
    with np.load(cache) as arrays:
        kept = dict(arrays)
    made = two_registers.parent / "made"
    np.savez(cache, **(kept | {"f": np.array([Mischief(made)], dtype=object)}))

    assert column_cache.kept(two_registers, read(two_registers).header) is None
    assert not made.exists()
