"""With the storage's own order of writes the verdict is exact: a search over orders agrees."""

from __future__ import annotations

import random

import pytest

from checkers import Verdict, judge
from checkers.history.records import Outcome
from tests.support.brute_force import history_of, random_register_history, renumbered
from tests.support.commit_logs import committed, explained, random_log
from tests.support.selection import seeds


@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("seed", seeds(3))
def test_the_verdict_is_right_iff_the_log_explains_the_history(seed: int, fenced: bool) -> None:
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


def found_in_the_log(verdict: Verdict) -> bool:
    """The log alone shows that something is wrong: what clients saw cannot say more."""
    return any(result.findings for result in verdict.checkers if result.evidence == "committed")
