"""Does a program follow the line protocol? Every request is played, and what can go wrong with it.

The checks need two programs on the same servers, as two clients: one holds the lock while the
other waits, and one is killed while it holds the lock. They find mistakes of an adapter before
a run does, where a mistake only makes outcomes unknown, or a verdict wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from workloads.client import GIVES_NONE, Unknown
from workloads.line_protocol.clients import MILLISECOND, SECOND
from workloads.line_protocol.disturbances import (
    SHORT_WAIT,
    Silence,
    garbage,
    stopped_lock,
    stopped_storage,
)
from workloads.line_protocol.foreign_owners import foreign_release
from workloads.line_protocol.messages import AcquireResult, ReadResult, convert_fields
from workloads.line_protocol.played import Check, Hung, PlayedAnswer, asked, one_of
from workloads.line_protocol.program_client import KEPT_OPEN, ProgramClient
from workloads.line_protocol.queue_checks import queue_checks
from workloads.line_protocol.stop_checks import stop_of_a_holder, stop_without_a_lock

LEASES = 3  # TTLs in which the lock of a killed program must become free
LARGE = 2**62 + 1
"""A token that a floating-point number cannot hold."""
EXACT = 2**53
"""The largest number up to which doubles hold all integers."""
PAST_DOUBLES = EXACT + 3
"""A token that is equal to the next one as a floating-point number."""
ROUNDED = "many JSON libraries round numbers above 2^53"
VALUE = '0-1.0 "é\\'
RESOURCES = ("r0", "r1")
AT_ONCE = " (no event granted: right if one request grants the lock and gives the token)"
STOP_POINTS = {"granted": "granted", "sent": "write-sent"}
"""The stop point of each optional event."""
SIDES = {"granted": "lock", "sent": "storage"}
"""The side of the program that reports each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the checks may expect of a program."""

    sides: AbstractSet[str]  # "lock", "storage", "queue"
    ttl: int  # ns
    fenced: bool
    policy: str
    fence_on_acquire: bool
    served: AbstractSet[str]  # the sides with servers, which can be stopped
    aimed_at: AbstractSet[str]  # the stop points at which a fault of the target stops clients
    grace: float  # seconds; in which a client that is stopped in order has to end


def conformance(
    begin: Callable[[int], ProgramClient], expected: Expected, silence: Silence
) -> Iterator[Check]:
    """Play every request against programs started by `begin`, for clients 0 and 1; yield what was found.

    It ends with the first request that gets no answer. Raises ProgramError if a program does not become
    ready.
    """
    with ExitStack() as programs:
        try:
            yield from _all(programs, begin, expected, silence)
        except Hung as hung:
            remedy = "end it too" if hung.why.endswith(KEPT_OPEN) else "every call needs a deadline"
            found = f"{hung.why}: {remedy}; the rest was not played"
            yield Check(request=hung.request, fits=False, found=found)


def _all(
    programs: ExitStack, begin: Callable[[int], ProgramClient], expected: Expected, silence: Silence
) -> Iterator[Check]:
    repeated: list[str] = []
    events: set[str] = set()

    def start(client: int) -> ProgramClient:
        program = programs.enter_context(closing(begin(client)))
        program.repeated = repeated.append
        program.events = events
        return program

    began = time.monotonic()
    first = start(0)
    ready = f"ready after {time.monotonic() - began:.1f} s"
    yield Check(request="start", fits=True, found=f"{ready}; {_versions(first)}")
    second = start(1)
    if "queue" in expected.sides:
        second = yield from queue_checks(first, second, expected.ttl // MILLISECOND, fenced=expected.fenced)
    elif "lock" in expected.sides:
        yield from _lock(first, second, expected, silence)
    if "storage" in expected.sides:
        yield from _storage(second, expected)
        if "storage" in expected.served:
            yield from stopped_storage(second, silence, LARGE + 1, "0-1.6")
    yield from garbage(second, min(expected.sides))
    first.close()
    again = start(0)
    yield one_of("a request after a restart", asked(again, "reconnect", side=min(expected.sides)), "ok")
    if "lock" in expected.sides and again.knows_stop:
        yield from _stop(again, second, expected)
        again.close()
        yield from stop_without_a_lock(start(0), expected.grace)
    if "queue" not in expected.sides:
        yield from _unreported(events, expected)
    if repeated:
        found = f"a second answer to the same request: {repeated[0]}"
        yield Check(request="answers", fits=False, found=found)


def _unreported(events: AbstractSet[str], expected: Expected) -> Iterator[Check]:
    """Name the moments at which no fault can begin, because the program never reported their events."""
    missing = [event for event, side in SIDES.items() if side in expected.sides and event not in events]
    if missing:
        moments = " and ".join(f"{STOP_POINTS[event]}/…" for event in missing)
        which = f"the moments {moments} cannot be aimed at; see docs/hazards.md"
        yield Check(request="events", fits=True, found=f"no event {' and no event '.join(missing)}: {which}")


def _versions(program: ProgramClient) -> str:
    named = ", ".join(f"{name} {version}" for name, version in program.versions.items())
    return f"versions: {named}" if named else "it names no versions"


def _lock(
    first: ProgramClient, second: ProgramClient, expected: Expected, silence: Silence
) -> Iterator[Check]:
    wait = LEASES * expected.ttl // MILLISECOND
    granted, check = _acquire(first, "r0", "0-1", wait, expected)
    if granted is None:
        yield _alone(check, "everything else of the lock")
        return
    yield check
    while_held = asked(second, "acquire", resource="r0", owner="1-1", wait_ms=SHORT_WAIT)
    yield one_of("acquire of a held lock", while_held, "failed")
    asked(second, "revoke", resource="r0", owner="1-1")
    after = asked(second, "acquire", resource="r0", owner="1-5", wait_ms=SHORT_WAIT)
    yield one_of("acquire of a held lock after the revoke of another owner", after, "failed")
    yield one_of("release", asked(first, "release", resource="r0", owner="0-1"), "ok")
    again = asked(first, "release", resource="r0", owner="0-1")
    yield one_of("release without the lock", again, "failed")
    next_one, check = _acquire(second, "r0", "1-2", wait, expected)
    if next_one is None:
        yield _alone(check, "the token of the next holder")
    else:
        yield check
        yield _tokens(granted.token, next_one.token, expected)
    asked(second, "release", resource="r0", owner="1-2")
    yield one_of("reconnect", asked(first, "reconnect", side="lock"), "ok")
    yield from _foreign_owner(first, second, expected)
    yield from _revoke(first, second, wait, expected)
    if "lock" in expected.served:
        yield from stopped_lock(first, second, silence, wait)
    yield from _lapse(first, second, expected)


def _foreign_owner(first: ProgramClient, second: ProgramClient, expected: Expected) -> Iterator[Check]:
    """With a fresh lease, so that it does not end during a check."""
    ttl = expected.ttl // MILLISECOND
    granted, check = _acquire(first, "r0", "0-5", LEASES * ttl, expected)
    if granted is None:
        yield _alone(check, "the release by another owner")
        return
    yield from foreign_release(second, ttl)
    asked(first, "release", resource="r0", owner="0-5")


def _revoke(first: ProgramClient, second: ProgramClient, wait: int, expected: Expected) -> Iterator[Check]:
    """An acquire is undone, as after an unknown outcome, and the lock is free at once."""
    granted, check = _acquire(first, "r1", "0-2", wait, expected)
    if granted is None:
        yield _alone(check, "revoke")
        return
    asked(first, "reconnect", side="lock")
    revoked = asked(first, "revoke", resource="r1", owner="0-2")
    yield one_of("revoke", revoked, "ok", "unsupported")
    if revoked.word == "ok":
        after = asked(second, "acquire", resource="r1", owner="1-3", wait_ms=SHORT_WAIT)
        yield one_of("acquire of a revoked lock", after, "ok")
        asked(second, "release", resource="r1", owner="1-3")


def _lapse(first: ProgramClient, second: ProgramClient, expected: Expected) -> Iterator[Check]:
    """A killed holder loses its lock: not before its promise ends, and not much later."""
    wait = LEASES * expected.ttl // MILLISECOND
    called = time.monotonic_ns()
    granted, check = _acquire(first, "r0", "0-3", wait, expected)
    if granted is None:
        yield _alone(check, "the lock of a killed program")
        return
    first.close()
    answer = asked(second, "acquire", resource="r0", owner="1-4", wait_ms=wait, within=2 * wait / 1000)
    after = time.monotonic_ns() - (granted.attempt_ns or called)
    promised = (granted.ttl_ms or 0) * MILLISECOND
    found = f"granted {after / SECOND:.2f} s after the holder's attempt"
    if answer.word not in {"ok", "failed"}:
        found = answer.shown
    elif answer.word == "failed":
        late = f"the lock of a killed program is not free after {LEASES} TTLs"
        found = f"{answer.shown}: {late}; does another owner renew it?"
    elif after < promised:
        found += (
            f", which was promised {promised / SECOND:.2f} s:"
            " ttl_ms must be null if the lock ends with its connection"
        )
    fits = answer.word == "ok" and after >= promised
    yield Check(request="acquire after the holder was killed", fits=fits, found=found)
    asked(second, "release", resource="r0", owner="1-4")


def _stop(holder: ProgramClient, second: ProgramClient, expected: Expected) -> Iterator[Check]:
    """With a fresh lease, so that it is the stop that frees the lock."""
    called = time.monotonic_ns()
    granted, check = _acquire(holder, "r1", "0-6", LEASES * expected.ttl // MILLISECOND, expected)
    if granted is None:
        yield _alone(check, "the stop of a holder")
        return
    ends = granted.ttl_ms and (granted.attempt_ns or called) + granted.ttl_ms * MILLISECOND
    yield from stop_of_a_holder(holder, second, ("r1", "0-6"), ends, expected.grace)


def _acquire(
    program: ProgramClient, resource: str, owner: str, wait: int, expected: Expected
) -> tuple[AcquireResult | None, Check]:
    """Take a free lock; `wait` in ms."""
    called = time.monotonic_ns()
    answer = asked(program, "acquire", resource=resource, owner=owner, wait_ms=wait, within=wait / 1000)
    if answer.word != "ok":
        return None, one_of("acquire", answer, "ok")
    try:
        granted = convert_fields(AcquireResult, answer.fields)
    except Unknown as error:
        return None, Check(request="acquire", fits=False, found=str(error))
    attempt = granted.attempt_ns
    if attempt is not None and not called <= attempt <= time.monotonic_ns():
        found = f"attempt_ns {attempt} is not a CLOCK_MONOTONIC time since the request"
        return None, Check(request="acquire", fits=False, found=found)
    lease = "no promised length" if granted.ttl_ms is None else f"{granted.ttl_ms} ms"
    sent = "" if attempt is None else ", with the time of its attempt"
    moment = _unaimed(answer, "granted", expected)
    if "granted" not in answer.events and granted.token is not None:
        moment = AT_ONCE
    token = "no token" if granted.token is None else f"token {granted.token}"
    found = f"{token}{moment}, {lease}{sent}{_advice(answer.fields['token'])}"
    return granted, Check(request="acquire", fits=True, found=found)


def _alone(check: Check, unchecked: str) -> Check:
    """Say what a failed acquire leaves unchecked."""
    return replace(check, found=f"{check.found}; not checked because of that: {unchecked}")


def _unaimed(answer: PlayedAnswer, event: str, expected: Expected) -> str:
    """Say how to stop a client where it reports an event, if no fault of the target does."""
    if event not in answer.events or STOP_POINTS[event] in expected.aimed_at:
        return ""
    return f' (event {event}: a pause with hazards = "all" stops the client there, too)'


def _advice(token: int | str | None) -> str:
    """What to say of a token as the program sent it."""
    is_rounded = isinstance(token, int) and token > EXACT
    return f"; {ROUNDED}: answer its digits as a string" if is_rounded else ""


def _tokens(first: int | None, second: int | None, expected: Expected) -> Check:
    """A token rises; a lock that gives none gives none to all, and has no fence."""
    request = "token of the next holder"
    if first is None or second is None:
        if first is not second:
            return Check(request=request, fits=False, found="one holder got a token, and the other one none")
        found = GIVES_NONE if expected.fenced else "none: holds are ordered by real time"
        return Check(request=request, fits=not expected.fenced, found=found)
    rises = second > first
    found = f"from {first} to {second}"
    return Check(
        request=request,
        fits=rises,
        found=found if rises else f"{found}: a fencing token must rise from grant to grant",
    )


def _storage(program: ProgramClient, expected: Expected) -> Iterator[Check]:
    yield _read(program, "read before the first write", None, None)
    written = _write(program, 5, VALUE)
    check = one_of("write", written, "ok")
    yield replace(check, found=f"{check.found}{_unaimed(written, 'sent', expected)}")
    yield _read(program, "read", VALUE, 5)
    refused = "stale" if expected.fenced else "ok"
    yield one_of("write with an older token", _write(program, 4, "0-1.1"), refused)
    same = "stale" if expected.fenced and expected.policy == "strict" else "ok"
    yield one_of(f"write with the same token ({expected.policy})", _write(program, 5, "0-1.2"), same)
    yield one_of("write with the next token", _write(program, 6, "0-1.7"), "ok")
    if expected.fence_on_acquire:
        yield one_of("fence", asked(program, "fence", resource="r0", token=8), "ok")
        yield one_of("write below a fence", _write(program, 7, "0-1.3"), "stale")
    for check in _past_doubles(program, expected):
        yield check if check.fits else replace(check, found=f"{check.found}: {ROUNDED}")
    yield one_of("write with a token above 2^62", _write(program, LARGE, "0-1.4"), "ok")
    yield _read(program, "read of a token above 2^62", "0-1.4", LARGE)
    if expected.fenced:
        yield one_of("write with a token lower by one", _write(program, LARGE - 1, "0-1.5"), "stale")
    yield one_of("reconnect", asked(program, "reconnect", side="storage"), "ok")
    if expected.fenced:
        yield _read(program, "read after reconnect", "0-1.4", LARGE)


def _past_doubles(program: ProgramClient, expected: Expected) -> Iterator[Check]:
    """Tokens that differ by one, and are equal to a program or a database that computes in doubles."""
    after = PAST_DOUBLES + 1
    yield one_of("write with a token above 2^53", _write(program, PAST_DOUBLES, "0-1.8"), "ok")
    yield _read(program, "read of a token above 2^53", "0-1.8", PAST_DOUBLES)
    yield one_of("write with the next token above 2^53", _write(program, after, "0-1.9"), "ok")
    if expected.fenced:
        older = _write(program, PAST_DOUBLES, "0-1.10")
        yield one_of("write with an older token above 2^53", older, "stale")
    if expected.fence_on_acquire:
        fenced = asked(program, "fence", resource="r0", token=after + 1)
        yield one_of("fence with a token above 2^53", fenced, "ok")
        below = _write(program, after, "0-1.11")
        yield one_of("write below a fence above 2^53", below, "stale")


def _write(program: ProgramClient, token: int, value: str) -> PlayedAnswer:
    return asked(program, "write", resource="r0", token=token, value=value)


def _read(program: ProgramClient, what: str, value: str | None, token: int | None) -> Check:
    """Read; `token` is None where any will do."""
    answer = asked(program, "read", resource="r0")
    if answer.word != "ok":
        return one_of(what, answer, "ok")
    try:
        read = convert_fields(ReadResult, answer.fields)
    except Unknown as error:
        return Check(request=what, fits=False, found=str(error))
    fits = read.value == value and token in (None, read.token)
    found = f"value {read.value!r}, token {read.token}"
    wanted = f"; expected value {value!r}" + ("" if token is None else f", token {token}")
    return Check(request=what, fits=fits, found=found if fits else found + wanted)
