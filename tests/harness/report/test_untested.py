"""What a run gave the checkers nothing to compare for."""

from __future__ import annotations

import pytest

from checkers.history.records import Op, Outcome
from harness.report.counters import untested


def op(f: str, *, token: int | None = None) -> Op:
    return Op(index=0, process=0, f=f, resource="r0", called=1, returned=2, outcome=Outcome.OK, token=token)


@pytest.mark.parametrize(
    ("operations", "lacking"),
    [
        ((), {}),
        ((op("acquire", token=1), op("read"), op("write", token=1)), {"lost-update": "no appends"}),
        ((op("acquire", token=1), op("append", token=1)), {}),
        (
            (op("acquire", token=1), op("write", token=1)),
            {"lost-update": "no appends", "stale-read": "no reads"},
        ),
        ((op("acquire"), op("append")), {"duplicate-token": "no tokens", "token-regression": "no tokens"}),
    ],
)
def test_the_run_lacked(operations: tuple[Op, ...], lacking: dict[str, str]) -> None:
    assert untested(operations) == lacking
