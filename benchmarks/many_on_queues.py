"""Runs with many jobs that ran twice, or never."""

from __future__ import annotations

from benchmarks.kinds import LEASE, LEASED, Kind
from benchmarks.scripted import Script


def _ran_again(run: Script) -> None:
    """A job whose end was acknowledged, and that another worker then executes."""
    job = _submitted(run)
    for attempt in (1, 2):
        execution = run.call(attempt, "execute", job=job, owner=f"o{run.number()}", token=attempt)
        run.answer(execution, ended=run.now)


def _never_began(run: Script) -> None:
    """A job that is due while a worker waits in vain."""
    _submitted(run)
    take = run.call(1, "take")
    run.now += 3 * LEASE
    run.answer(take, "fail")


def _submitted(run: Script) -> str:
    job = f"j{run.number()}"
    run.do(0, "submit", job=job, due=run.now)
    return job


ON_QUEUES = {
    "double runs": Kind(add=_ran_again, finds="double-run", header=LEASED),
    "lost runs": Kind(add=_never_began, finds="lost-run", header=LEASED),
}
"""Runs by what there is much of."""
