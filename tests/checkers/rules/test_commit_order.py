"""With the storage's own order of writes the verdict is exact: a search over orders agrees."""

from __future__ import annotations

import random
from typing import Any

import pytest

from checkers.facts.evidence import Evidence, gather
from checkers.facts.log_order import LogOrder
from checkers.history.records import Op, Outcome
from checkers.rules import rejections
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Verdict
from tests.support.brute_force import history_of, random_register_history, renumbered
from tests.support.commit_logs import committed, explained, random_log
from tests.support.examples import Cases
from tests.support.selection import seeds


@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("seed", seeds(3))
def test_the_verdict_is_right_iff_the_log_explains_the_history(seed: int, fenced: bool, cases: Cases) -> None:
    rng = random.Random(seed)
    right = 0
    for _ in range(cases(800)):
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
    assert 0.18 < right / cases(800) < 0.82


def found_in_the_log(verdict: Verdict) -> bool:
    """The log alone shows that something is wrong: what clients saw cannot say more."""
    return any(result.findings for result in verdict.checkers if result.evidence == "committed")


def of_rejections(evidence: Evidence) -> list[object]:
    return list(rejections.of_logged(Evidence(history=evidence.history, log=evidence.log)))


def test_what_comes_too_late_by_refusals_is_found_as_in_a_second_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(0)
    answers: list[bool] = []
    make_late = LogOrder._make_late

    def answered(order: LogOrder, *arguments: Any) -> bool:
        answers.append(make_late(order, *arguments))
        return answers[-1]

    for _ in range(3000):
        operations = random_register_history(rng)
        log = committed(random_log(rng, operations))
        if not any(op.error == "stale" for op in operations):
            continue
        evidence = gather(history_of(operations, strict=rng.random() < 0.5), log, same_run=True)
        monkeypatch.setattr(LogOrder, "_make_late", answered)
        found = of_rejections(evidence)
        monkeypatch.setattr(LogOrder, "_make_late", lambda *_: True)

        assert found == of_rejections(evidence), (operations, log)

    assert 0 < sum(answers) < len(answers) - 500


@pytest.mark.parametrize(("called", "is_late"), [(3, False), (4, True)])
def test_a_read_of_what_had_been_replaced_by_the_refusal_of_an_older_token(
    called: int, is_late: bool
) -> None:
    operations = renumbered(
        [
            Op(index=0, process=0, f="write", resource="r0", called=0, returned=1, outcome=Outcome.OK, token=1, value="a"),
            Op(index=1, process=1, f="write", resource="r0", called=0, token=3, value="b"),
            Op(index=2, process=2, f="write", resource="r0", called=2, returned=3, outcome=Outcome.FAIL, token=2, value="c", error="stale"),
            Op(index=3, process=3, f="read", resource="r0", called=called, returned=5, outcome=Outcome.OK, token=1, value="a"),
        ]
    )  # fmt: skip

    found = of_rejections(gather(history_of(operations), committed([operations[0], operations[1]])))

    assert bool(found) == is_late
