"""How far the storage's own order had got, by what it refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

from checkers.facts.evidence import Evidence, gather
from checkers.facts.log_order import LogOrder
from checkers.history.records import Op, Outcome
from checkers.rules import rejections
from tests.support.brute_force import history_of, random_register_history, renumbered
from tests.support.commit_logs import committed, random_log


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
