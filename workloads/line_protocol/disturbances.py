"""What a program does while its servers are stopped, and after a line that makes no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from checkers.history.records import ENDED, UNUSABLE
from workloads.client import Unknown
from workloads.line_protocol.messages import ReadResult, convert_fields
from workloads.line_protocol.played import Check, Hung, PlayedAnswer, asked, one_of
from workloads.line_protocol.program_client import ProgramClient

Silence = Callable[[str], AbstractContextManager[None]]
"""Stops all servers of a side ("lock", "storage") during a block."""
GARBAGE = (b"not JSON", b'{"id":', b"[]", b"\xff\xfe")
SHORT_WAIT = 300  # ms
_TRIES = 3  # of a read, by a storage whose servers have just continued


def stopped_lock(first: ProgramClient, second: ProgramClient, silence: Silence, wait: int) -> Iterator[Check]:
    """Ask for a free lock while the lock's servers are stopped; `wait` (ms) is enough to get one later."""
    with _stopped(silence, "lock"):
        answer = asked(first, "acquire", resource="r1", owner="0-4", wait_ms=SHORT_WAIT)
        reconnected = asked(first, "reconnect", side="lock")
    yield one_of("acquire while the lock's servers are stopped", answer, "unknown", "failed")
    yield one_of("reconnect while the lock's servers are stopped", reconnected, "ok")
    if answer.word != "failed":
        asked(first, "revoke", resource="r1", owner="0-4")
    # First another resource, however long it takes: servers that were stopped may have to elect a leader.
    other = asked(second, "acquire", resource="r0", owner="1-5", wait_ms=wait, within=wait / 1000)
    yield one_of("acquire after the servers continued", other, "ok")
    asked(second, "release", resource="r0", owner="1-5")
    if answer.word == "failed":
        same = asked(second, "acquire", resource="r1", owner="1-6", wait_ms=SHORT_WAIT)
        found = f"{same.shown}: the acquire that it had answered with failed took effect"
        yield Check(
            request="acquire after a failed one",
            fits=same.word == "ok",
            found="ok" if same.word == "ok" else found,
        )
        asked(second, "release", resource="r1", owner="1-6")


def stopped_storage(program: ProgramClient, silence: Silence, token: int, value: str) -> Iterator[Check]:
    """Write while the storage's servers are stopped, with a token above all others."""
    with _stopped(silence, "storage"):
        answer = asked(program, "write", resource="r0", token=token, value=value)
        reconnected = asked(program, "reconnect", side="storage")
    yield one_of("write while the storage's servers are stopped", answer, "unknown", "failed")
    yield one_of("reconnect while the storage's servers are stopped", reconnected, "ok")
    for _ in range(_TRIES):
        read = asked(program, "read", resource="r0")
        if read.word == "ok":
            break
        asked(program, "reconnect", side="storage")
    yield one_of("read after the servers continued", read, "ok")
    if answer.word == "failed" and _value(read) == value:
        found = "the write that it had answered with failed took effect"
        yield Check(request="write after a failed one", fits=False, found=found)


def garbage(program: ProgramClient, side: str) -> Iterator[Check]:
    """Send lines that are no requests, then one that is: the program ignores them, or ends."""
    for line in GARBAGE:
        what = f"the line '{line.decode(errors='backslashreplace')}'"
        try:
            program.send_line(line)
            answer = asked(program, "no-such-request")
        except Unknown as error:
            answer = PlayedAnswer("unknown", {}, str(error))
        except Hung as hung:
            raise Hung(f"no-such-request after {what}", hung.why) from None
        found = "ignored" if answer.word == "unsupported" else answer.shown
        if answer.reason.startswith(ENDED):
            found = f"{answer.reason}, as it may"
        answered = answer.word == "ok" or answer.reason.startswith(UNUSABLE)
        yield Check(request=what, fits=not answered, found=found)
        if answer.word != "unsupported":
            program.reconnect(side)  # starts it again, if it has ended
    yield one_of("an unknown field", asked(program, "reconnect", side=side, unknown_field=[1]), "ok")
    yield one_of("an unknown request", asked(program, "no-such-request"), "unsupported")


@contextmanager
def _stopped(silence: Silence, side: str) -> Iterator[None]:
    with silence(side):
        try:
            yield
        except Hung as hung:
            raise Hung(f"{hung.request} while the {side}'s servers are stopped", hung.why) from None


def _value(read: PlayedAnswer) -> str | None:
    try:
        return convert_fields(ReadResult, read.fields).value
    except Unknown:
        return None
