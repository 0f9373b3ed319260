"""The request "stop", as a rolling deployment sends it: the program gives its lock back, and ends."""

from __future__ import annotations

import time
from collections.abc import Iterator

from workloads.client import NotApplied, Unknown
from workloads.line_protocol.clients import MILLISECOND
from workloads.line_protocol.disturbances import SHORT_WAIT
from workloads.line_protocol.outcomes import Unsupported
from workloads.line_protocol.pipe import Deadline, NoAnswer
from workloads.line_protocol.played import Check, PlayedAnswer, asked, one_of
from workloads.line_protocol.program_client import ProgramClient

UNPROMISED = 4_000  # ms; taken for the rest of a lease without a promised length
NEXT_OWNER = "1-9"
_NOT_KNOWN = 'answer it, or leave "stop" out of the answer to start'


def stop_of_a_holder(
    holder: ProgramClient, other: ProgramClient, hold: tuple[str, str], lease_ends: int | None, grace: float
) -> Iterator[Check]:
    """Stop a program that holds a lock (resource and owner), for which another one then asks.

    `lease_ends` is when its promise ends, by CLOCK_MONOTONIC in ns (None: it promised no length); `grace`, in
    seconds, is how long it may take to end.
    """
    deadline = Deadline(grace)
    remedy = "this owner holds the lock: release the resource and the owner that the request names"
    answer = _asked_to_stop(holder, hold, deadline)
    yield _answered("stop", answer, grace, remedy)
    if answer is not None and answer.word == "ok":
        yield _freed(other, hold[0], lease_ends)
    if answer is not None:
        yield _ended("end after the stop", holder, deadline, grace)


def stop_without_a_lock(program: ProgramClient, grace: float) -> Iterator[Check]:
    """Stop a program that holds no lock; `grace` in seconds."""
    deadline = Deadline(grace)
    remedy = "without a resource and an owner there is nothing to release"
    answer = _asked_to_stop(program, (None, None), deadline)
    yield _answered("stop without a lock", answer, grace, remedy)
    if answer is not None:
        yield _ended("end after the stop without a lock", program, deadline, grace)


def _asked_to_stop(
    program: ProgramClient, hold: tuple[str | None, str | None], deadline: Deadline
) -> PlayedAnswer | None:
    """Return how the program answered; None if it did not."""
    program.listen()
    try:
        program.stop(*hold, deadline)
    except Unsupported:
        return PlayedAnswer("unsupported", {})
    except NotApplied as error:
        return PlayedAnswer("failed", {}, str(error))
    except NoAnswer:
        return None
    except Unknown as error:
        return PlayedAnswer("unknown", {}, str(error))
    return PlayedAnswer("ok", {})


def _answered(what: str, answer: PlayedAnswer | None, grace: float, remedy: str) -> Check:
    """Say whether the answer is ok; `remedy` is for one that says failed."""
    if answer is None:
        found = f"no answer within its grace, {grace:g} s: answer ok once it holds no lock"
        return Check(request=what, fits=False, found=found)
    check = one_of(what, answer, "ok")
    said = {"failed": f": {remedy}", "unsupported": f": {_NOT_KNOWN}"}.get(answer.word, "")
    return Check(request=what, fits=check.fits, found=f"{check.found}{said}")


def _freed(other: ProgramClient, resource: str, lease_ends: int | None) -> Check:
    """The lock that was given back is free well before its lease ends.

    The other program may have just started, and its first grant is slow: half of the lease is enough for it.
    """
    left = UNPROMISED if lease_ends is None else (lease_ends - time.monotonic_ns()) // MILLISECOND
    wait = max(SHORT_WAIT, left // 2)
    answer = asked(
        other, "acquire", resource=resource, owner=NEXT_OWNER, wait_ms=wait, within=1 + wait / 1000
    )
    check = one_of("acquire after the stop", answer, "ok")
    found = check.found
    if answer.word == "failed":
        found += ": the stop was answered ok, but the lock is not free: release it before you answer"
    if answer.word == "ok":
        if lease_ends is not None and time.monotonic_ns() >= lease_ends:
            found += ", but the lease had ended by then, which frees the lock as well: raise lock.ttl"
        asked(other, "release", resource=resource, owner=NEXT_OWNER)
    return Check(request=check.request, fits=check.fits, found=found)


def _ended(what: str, program: ProgramClient, deadline: Deadline, grace: float) -> Check:
    """Close the program's standard input, and say whether it ends by its deadline."""
    closed = time.monotonic()
    try:
        program.leave(deadline)
    except NoAnswer:
        found = f"still running after its grace, {grace:g} s: end when standard input ends, or it is killed"
        return Check(request=what, fits=False, found=found)
    found = f"ended {time.monotonic() - closed:.1f} s after its standard input"
    return Check(request=what, fits=True, found=found)
