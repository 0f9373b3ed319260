"""The requests of a queue, played with two programs as two workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from workloads.client import GIVES_NONE, Unknown
from workloads.line_protocol.disturbances import SHORT_WAIT
from workloads.line_protocol.messages import TakeResult, convert_fields
from workloads.line_protocol.played import Check, PlayedAnswer, asked, one_of
from workloads.line_protocol.program_client import ProgramClient

QUEUE = "r0"
LEASES = 5  # leases in which the job of a killed worker may begin again
LONG_WAIT = 10_000  # ms; for a job that is due
DELAY = 2_000  # ms


def queue_checks(first: ProgramClient, second: ProgramClient, ttl: int, *, fenced: bool) -> Iterator[Check]:
    """Play a job, a delayed one that fails, and one whose worker is killed; `ttl` in ms."""
    yield one_of("take from an empty queue", _asked_to_take(first, SHORT_WAIT), "failed")
    yield one_of("submit", _submit(first, "r0-0"), "ok")
    begun = _take(first, "take", "r0-0", fenced=fenced)
    yield begun
    if not begun.fits:
        return
    yield one_of("take of a job that is being executed", _asked_to_take(second, SHORT_WAIT), "failed")
    yield one_of("complete", _complete(first, "r0-0"), "ok")
    yield one_of("take after the job was completed", _asked_to_take(second, SHORT_WAIT), "failed")
    called = time.monotonic()
    yield one_of("submit of a job that is due later", _submit(first, "r0-1", DELAY), "ok")
    later = _take(second, "take of a job that is due later", "r0-1", fenced=fenced)
    early = DELAY / 1000 - (time.monotonic() - called)
    if later.fits and early > 0:
        later = replace(later, fits=False, found=f"{later.found}, {early:.2f} s before it was due")
    yield later
    yield one_of("complete of a failed job", _complete(second, "r0-1", failed=True), "ok", "failed")
    yield one_of("reconnect", asked(second, "reconnect", side="lock"), "ok")
    yield from _killed(first, second, ttl, fenced=fenced)


def _killed(first: ProgramClient, second: ProgramClient, ttl: int, *, fenced: bool) -> Iterator[Check]:
    """Kill a worker, and say whether another one gets its job."""
    yield one_of("submit of a second job", _submit(second, "r0-2"), "ok")
    taken = _take(first, "take before the worker is killed", "r0-2", fenced=fenced, retried="r0-1")
    yield taken
    if not taken.fits:
        return
    first.close()
    killed = time.monotonic()
    answer = _asked_to_take(second, LEASES * ttl)
    what = "take of a killed worker's job"
    if answer.word == "ok":
        yield Check(request=what, fits=True, found=f"begun again after {time.monotonic() - killed:.1f} s")
        _complete(second, "r0-2")
    else:
        found = f"{answer.shown}: not begun again within {LEASES} leases"
        yield replace(one_of(what, answer, "failed"), found=found)


def _submit(program: ProgramClient, job: str, due_ms: int = 0) -> PlayedAnswer:
    return asked(program, "submit", resource=QUEUE, job=job, due_ms=due_ms)


def _asked_to_take(program: ProgramClient, wait: int) -> PlayedAnswer:
    return asked(program, "take", within=wait / 1000, resource=QUEUE, wait_ms=wait)


def _complete(program: ProgramClient, job: str, *, failed: bool = False) -> PlayedAnswer:
    return asked(program, "complete", resource=QUEUE, job=job, failed=failed)


def _take(program: ProgramClient, what: str, job: str, *, fenced: bool, retried: str = "") -> Check:
    """Take a job that is there, or will be soon; one that has failed may come before it, and is completed."""
    answer = _asked_to_take(program, LONG_WAIT)
    if answer.word != "ok":
        return one_of(what, answer, "ok")
    try:
        taken = convert_fields(TakeResult, answer.fields)
    except Unknown as error:
        return Check(request=what, fits=False, found=str(error))
    if taken.job == retried:
        _complete(program, retried)
        return _take(program, what, job, fenced=fenced)
    if taken.job != job:
        return Check(request=what, fits=False, found=f"job {taken.job}; expected {job}")
    if taken.token is None:
        return Check(request=what, fits=not fenced, found=GIVES_NONE if fenced else f"{job}, no attempt")
    return Check(request=what, fits=True, found=f"{job}, attempt {taken.token}")
