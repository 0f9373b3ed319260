"""What is found among a few operations is the same for all of one shape; their roles make fingerprints."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from checkers.explain import shapes
from checkers.explain.proof import alone
from checkers.facts.evidence import Evidence, gather
from checkers.history.records import Commit, History, Op, Value
from checkers.rules import lost_writes
from checkers.verdict.findings import roles
from checkers.verdict.judge import AS_SEEN, COMMITTED, OTHERS
from tests.support.broken_storages import KINDS
from tests.support.brute_force import read, write
from tests.support.crowds import crowd
from tests.support.selection import Cases
from tests.support.storage_runs import Run

CHECKS = [each for each in (*AS_SEEN, *COMMITTED, *OTHERS) if each.compares_only]


def elsewhere(run: Run) -> Run:
    """The same run at other times, with other tokens, values and names, in the same order."""
    header = replace(run.history.header, initial_token=_token(run.history.header.initial_token) or 0)
    initial = header.initial_value
    operations = tuple(_operation(op, initial) for op in run.history.operations)
    commits = tuple(_commit(commit, initial) for commit in run.commits)
    return replace(run, history=replace(run.history, header=header, operations=operations), commits=commits)


def _token(token: int | None) -> int | None:
    return None if token is None else 3 * token + 2


def _value(value: Value, initial: Value) -> Value:
    return value if value is None or value == initial else f"other {value}"


def _operation(op: Op, initial: Value) -> Op:
    return replace(
        op,
        called=5 * op.called,  # an unmatched commit has no call: at 0
        returned=None if op.returned is None else 5 * op.returned,
        token=_token(op.token),
        value=_value(op.value, initial),
        resource=f"other {op.resource}",
        process=op.process + 1,
    )


def _commit(commit: Commit, initial: Value) -> Commit:
    token, value = _token(commit.token), _value(commit.value, initial)
    return replace(commit, token=token, value=value, resource=f"other {commit.resource}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_proofs_that_differ_in_times_tokens_and_names_have_one_shape(
    kind: str, cases: Cases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "_KNOWN", {})
    rng = random.Random(f"{kind} shapes")
    for _ in range(cases(12, least=4)):
        run = crowd(rng, kind, most=2)
        run = replace(run, history=replace(run.history, faults=()))
        other = elsewhere(run)
        size = min(rng.randint(1, 5), len(run.history.operations))
        rows = sorted(rng.sample(range(len(run.history.operations)), size))
        for logged in (True, False):
            one, same = (
                gather(each.history, each.commits if logged else None, same_run=True) for each in (run, other)
            )
            for check in CHECKS:
                shapes.conflicts_among(one, _part(one, rows), check)
                known = len(shapes._KNOWN)

                found = shapes.conflicts_among(one, _part(same, rows), check)

                assert len(shapes._KNOWN) == known
                assert list(found) == list(check.check(_part(same, rows))), (check, rows, run)


@pytest.mark.slow
def test_what_another_fence_makes_of_the_same_operations_is_another_shape() -> None:
    rng = random.Random(0)
    fences = [{"policy": "strict"}, {"policy": "inclusive"}, {"fenced": False}]
    found: dict[bool, int] = {False: 0, True: 0}
    for kind in KINDS:
        run = crowd(rng, kind, most=1)
        rows = sorted(rng.sample(range(len(run.history.operations)), min(4, len(run.history.operations))))
        each = []
        for promised in fences:
            history = replace(run.history, header=replace(run.history.header, **promised), faults=())
            evidence = gather(history, run.commits, same_run=True)
            conflicts = [
                list(shapes.conflicts_among(evidence, _part(evidence, rows), check)) for check in CHECKS
            ]
            assert conflicts == [list(check.check(_part(evidence, rows))) for check in CHECKS], run
            each.append(conflicts)
        found[each[0] == each[1] == each[2]] += 1
    assert min(found.values()) > 2


def _part(evidence: Evidence, rows: list[int]) -> Evidence:
    return alone(evidence, [evidence.history.operations[row] for row in rows])


def test_a_restart_of_the_storage_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "_KNOWN", {})
    rng = random.Random(1)
    run = crowd(rng, "lost on restart")
    evidence = gather(run.history, run.commits, same_run=True)

    shapes.conflicts_among(evidence, evidence, lost_writes.CHECKER)

    assert shapes._KNOWN == {}
    assert not shapes._has_restarts(Evidence(history=History(header=run.history.header, operations=())))


@pytest.mark.parametrize("token", [3, 7])
def test_a_wrong_token_has_one_shape_whether_it_is_too_high_or_too_low(token: int) -> None:
    written = write(0, 5, 0, 1)
    found = read(1, (str(written.value), token), 2, 3)

    assert roles(found, [written]) == ("read", "write")


def test_an_older_value_is_older_than_the_one_that_had_replaced_it() -> None:
    old, new = write(0, 3, 0, 1), write(1, 5, 2, 3)
    found = read(2, (str(old.value), 3), 4, 5)

    assert roles(found, [old, new]) == ("read", "equal write", "newer write")
