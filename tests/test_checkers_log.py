"""With the storage's own order of writes the verdict is exact: a search over orders agrees."""

from __future__ import annotations

import random

import pytest
from brute_force import INITIAL, history_of, random_register_history, renumbered

from checkers import Commit, Verdict, judge
from checkers.records import Op, Outcome


def committed(writes: list[Op]) -> list[Commit]:
    return [
        Commit(seq=place + 1, resource="r0", token=write.token or 0, value=write.value)
        for place, write in enumerate(writes)
    ]


def explained(operations: tuple[Op, ...], log: list[Op], *, strict: bool, fenced: bool) -> bool:
    """Is there an order in which exactly the log's writes take effect, in the log's order?"""
    values = [write.value for write in log]
    writes = [op for op in operations if op.f == "write"]
    if len(set(values)) < len(values) or any(
        (op.outcome is Outcome.OK) > (op.value in values)
        or (op.outcome is Outcome.FAIL and op.value in values)
        for op in writes
    ):
        return False
    rejected = [op for op in writes if fenced and op.error == "stale"]
    reads = [op for op in operations if op.f == "read"]
    must = [*log, *rejected, *reads]
    seen = set()

    def search(done: frozenset[int], state, place: int) -> bool:
        if len(done) == len(must):
            return True
        if done in seen:
            return False
        seen.add(done)
        for i, op in enumerate(must):
            if i in done or any(must[j].precedes(op) for j in range(len(must)) if j not in done):
                continue
            accepts = op.token > state[1] or (not strict and op.token == state[1])
            if op.f == "read":
                fits, after, at = (op.value, op.token) == state, state, place
            elif op in rejected:
                fits, after, at = not accepts, state, place
            else:
                fits, after, at = accepts and log[place] is op, (op.value, op.token), place + 1
            if fits and search(done | {i}, after, at):
                return True
        return False

    return search(frozenset(), INITIAL, 0)


@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_verdict_is_right_iff_the_log_explains_the_history(seed, fenced):
    rng = random.Random(seed)
    right = 0
    for _ in range(800):
        operations = random_register_history(rng)
        if not fenced:
            operations = renumbered([op for op in operations if op.outcome is not Outcome.FAIL])
        strict = rng.random() < 0.5
        log = random_log(rng, operations)

        verdict = judge(history_of(operations, strict=strict, fenced=fenced), committed(log))

        wanted = explained(operations, log, strict=strict, fenced=fenced)
        assert (not verdict.findings) == wanted, (operations, log, verdict.findings)
        assert not [reason for reason in verdict.reasons if "crash" in reason]
        assert wanted or found_in_the_log(verdict)
        right += wanted
    assert 150 < right < 650


def random_log(rng: random.Random, operations: tuple[Op, ...]) -> list[Op]:
    """Mostly the order a fence makes, of the writes that took effect; now and then something wrong."""
    log = [
        op
        for op in operations
        if op.f == "write"
        and (op.outcome is Outcome.OK or (op.outcome is Outcome.INFO and rng.random() < 0.6))
    ]
    if rng.random() < 0.8:
        log.sort(key=lambda op: (op.token, rng.random()))
    else:
        rng.shuffle(log)
    if log and rng.random() < 0.05:
        log.pop()
    if log and rng.random() < 0.05:
        log.append(rng.choice(log))
    return log


def found_in_the_log(verdict: Verdict) -> bool:
    """The log alone shows that something is wrong: what clients saw cannot say more."""
    return any(result.findings for result in verdict.checkers if result.evidence == "committed")
