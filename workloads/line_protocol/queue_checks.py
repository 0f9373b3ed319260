"""The requests of a queue, played with two programs as two workers."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace

from workloads.client import GIVES_NONE, Unknown
from workloads.line_protocol.disturbances import SHORT_WAIT
from workloads.line_protocol.messages import TakeResult, convert_fields
from workloads.line_protocol.played import Check, PlayedAnswer, asked, one_of
from workloads.line_protocol.program_client import ProgramClient

QUEUE = "r0"
LEASES = 5  # leases in which the job of a killed worker may begin again
LONG_WAIT = 30  # s; for a job that is due
DELAY = 2_000  # ms


def queue_checks(
    first: ProgramClient, second: ProgramClient, ttl: int, *, fenced: bool
) -> Generator[Check, None, ProgramClient]:
    """Play a job, a delayed one that fails, and one whose worker is killed; `ttl` in ms.

    Return the program that is alive. A library may call the handler of either worker.
    """
    yield one_of("take from an empty queue", _asked_to_take(first, SHORT_WAIT), "failed")
    yield one_of("submit", _submit(first, "r0-0"), "ok")
    begun, worker, other = _take(first, second, "take", "r0-0", fenced=fenced)
    yield begun
    if not begun.fits:
        return second
    yield one_of("take of a job that is being executed", _asked_to_take(other, SHORT_WAIT), "failed")
    yield one_of("complete", _complete(worker, "r0-0"), "ok")
    yield one_of("take after the job was completed", _asked_to_take(other, SHORT_WAIT), "failed")
    called = time.monotonic()
    yield one_of("submit of a job that is due later", _submit(worker, "r0-1", DELAY), "ok")
    later, worker, other = _take(other, worker, "take of a job that is due later", "r0-1", fenced=fenced)
    early = DELAY / 1000 - (time.monotonic() - called)
    if later.fits and early > 0:
        later = replace(later, fits=False, found=f"{later.found}, {early:.2f} s before it was due")
    yield later
    yield one_of("complete of a failed job", _complete(worker, "r0-1", failed=True), "ok", "failed")
    yield one_of("reconnect", asked(worker, "reconnect", side="lock"), "ok")
    return (yield from _killed(other, worker, ttl, fenced=fenced))


def _killed(
    first: ProgramClient, second: ProgramClient, ttl: int, *, fenced: bool
) -> Generator[Check, None, ProgramClient]:
    """Kill a worker, say whether another one gets its job, and return that one."""
    yield one_of("submit of a second job", _submit(second, "r0-2"), "ok")
    what = "take before the worker is killed"
    taken, worker, other = _take(first, second, what, "r0-2", fenced=fenced, retried="r0-1")
    yield taken
    if not taken.fits:
        return other
    worker.close()
    killed = time.monotonic()
    answer = _asked_to_take(other, LEASES * ttl)
    if answer.fields.get("job") == "r0-1":
        _complete(other, "r0-1")
        answer = _asked_to_take(other, LEASES * ttl)
    what = "take of a killed worker's job"
    if answer.word == "ok":
        again = _taken(what, "r0-2", answer, fenced=fenced)
        found = f"begun again after {time.monotonic() - killed:.1f} s" if again.fits else again.found
        yield replace(again, found=found)
        _complete(other, "r0-2")
    else:
        found = f"{answer.shown}: not begun again within {LEASES} leases"
        yield replace(one_of(what, answer, "failed"), found=found)
    return other


def _submit(program: ProgramClient, job: str, due_ms: int = 0) -> PlayedAnswer:
    return asked(program, "submit", resource=QUEUE, job=job, due_ms=due_ms)


def _asked_to_take(program: ProgramClient, wait: int) -> PlayedAnswer:
    return asked(program, "take", within=wait / 1000, resource=QUEUE, wait_ms=wait)


def _complete(program: ProgramClient, job: str, *, failed: bool = False) -> PlayedAnswer:
    return asked(program, "complete", resource=QUEUE, job=job, failed=failed)


def _take(
    first: ProgramClient, second: ProgramClient, what: str, job: str, *, fenced: bool, retried: str = ""
) -> tuple[Check, ProgramClient, ProgramClient]:
    """Ask both for a job that is there, or will be soon; return what came, who took it, and the other.

    One that has failed may come before it, and is completed.
    """
    ends = time.monotonic() + LONG_WAIT
    worker, other = first, second
    while True:
        answer = _asked_to_take(worker, SHORT_WAIT)
        if answer.word == "ok" and answer.fields.get("job") == retried:
            _complete(worker, retried)
        elif answer.word != "failed" or time.monotonic() > ends:
            return _taken(what, job, answer, fenced=fenced), worker, other
        worker, other = other, worker


def _taken(what: str, job: str, answer: PlayedAnswer, *, fenced: bool) -> Check:
    if answer.word != "ok":
        return one_of(what, answer, "ok")
    try:
        taken = convert_fields(TakeResult, answer.fields)
    except Unknown as error:
        return Check(request=what, fits=False, found=str(error))
    if taken.job != job:
        return Check(request=what, fits=False, found=f"job {taken.job}; expected {job}")
    if taken.token is None:
        return Check(request=what, fits=not fenced, found=GIVES_NONE if fenced else f"{job}, no attempt")
    return Check(request=what, fits=True, found=f"{job}, attempt {taken.token}")
