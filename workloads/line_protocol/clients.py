"""A lock and a storage backed by one program, and the harness' own requests to a program."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from checkers.history.records import UNUSABLE, Commit
from checkers.text.printable import quoted
from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.commit_room import CommitRoom
from workloads.line_protocol.messages import (
    AcquireResult,
    CommitEvent,
    GrantedEvent,
    ReadResult,
    RenewedEvent,
    convert_fields,
)
from workloads.line_protocol.outcomes import Unsupported
from workloads.line_protocol.program_client import ProgramClient

MILLISECOND = 1_000_000  # ns
SECOND = 1_000_000_000  # ns
PATIENCE = 3  # TTLs that an acquire may wait for the lock
SETTING_UP = 30.0  # seconds
COMMITTED = 300.0  # seconds


class ProgramLock:
    """The lock side of a program; holds one lock at a time.

    Renewals are recorded in `renewals` when the program reports them, even during another request
    or between two, and after the release. A program that knows the request "stop" gets it as soon as the
    client is to leave, also while it reads or writes; its release is recorded there, too, and is the last.
    """

    def __init__(
        self, program: ProgramClient, renewals: Session, ttl: int, leaving: threading.Event | None = None
    ) -> None:
        self._program = program
        self._renewals = renewals
        self._ttl = ttl  # ns
        self.asks_for: int | None = None  # ns; the lease that the program was last granted
        self._hold: tuple[str, str] | None = None  # resource and owner
        self._asked: dict[str, str] = {}  # the resource of each owner
        self._recording = threading.Lock()
        self._asking = threading.Lock()  # for a lock, or to release one: no stop is sent meanwhile
        self._left = threading.Event()  # the program has answered a stop, or cannot any more
        self._is_leaving = False  # no renewal is recorded any more
        self._has_released = False
        program.renewed = self._record
        program.listen()
        if leaving is not None and program.knows_stop:
            threading.Thread(target=self._stop_when, args=(leaving,), daemon=True).start()

    def acquire(self, resource: str, owner: str) -> Grant:
        """Ask the program to wait for the lock and take it."""
        with self._asking:
            self._hold = (resource, owner)
            self._asked[owner] = resource
            called = time.monotonic_ns()
            wait = PATIENCE * self._ttl
            carried = self._program.request(
                "acquire",
                within=wait / SECOND,
                event=self._on_event,
                resource=resource,
                owner=owner,
                wait_ms=wait // MILLISECOND,
            )
        granted = convert_fields(AcquireResult, carried)
        attempt = granted.attempt_ns
        if attempt is not None and not called <= attempt <= time.monotonic_ns():
            raise Unknown(
                f"{UNUSABLE}attempt_ns {attempt}: it is not a CLOCK_MONOTONIC time since the acquire request"
            )
        ttl = None if granted.ttl_ms is None else granted.ttl_ms * MILLISECOND
        self.asks_for = ttl
        return Grant(token=granted.token, ttl=ttl, attempt=attempt)

    def _on_event(self, event: str, carried: Mapping[str, Any]) -> None:
        if event == "granted" and self._hold is not None:
            held = convert_fields(GrantedEvent, carried)
            self._renewals.granted(*self._hold)
            if held.wait:
                self._program.resume()

    def release(self, resource: str, owner: str) -> None:
        """Ask the program to release the lock if it still holds it."""
        with self._asking:
            self._hold = None
            self._program.request("release", resource=resource, owner=owner)

    def revoke(self, resource: str, owner: str) -> None:
        """Ask the program to undo an acquire whose outcome is unknown."""
        with self._asking:
            self._hold = None
            self._program.request("revoke", resource=resource, owner=owner)

    def leave_in_order(self) -> bool:
        """Wait until the program was asked to stop; return whether that has released the lock.

        At once False for a program that does not know the request.
        """
        if self._program.knows_stop:
            self._left.wait()
        return self._has_released

    def _stop_when(self, leaving: threading.Event) -> None:
        """Ask the program to stop once the client is to leave, and record what it releases."""
        leaving.wait()
        with self._asking:
            hold, self._hold = self._hold, None
            with self._recording:
                self._is_leaving = True
            if hold is None:
                with suppress(NotApplied, Unknown):
                    self._program.stop(None, None)
            else:
                self._has_released = self._released(*hold)
        self._left.set()

    def _released(self, resource: str, owner: str) -> bool:
        def stop() -> dict[str, Any]:
            self._program.stop(resource, owner)
            return {}

        return self._renewals.call("release", resource, stop, owner=owner).ok

    def reconnect(self) -> None:
        """Ask the program to drop its connections to the lock service."""
        self._program.reconnect("lock")

    def restarted(self) -> None:
        """Record that a held lock may have been lost when the program was killed."""
        if self._hold is not None:
            resource, owner = self._hold
            with self._recording:
                self._renewals.call("release", resource, _program_is_gone, owner=owner)
            self._hold = None

    def close(self) -> None:
        """Leave the program: it ends with its client."""

    def _record(self, renewed: RenewedEvent) -> None:
        """Record a renewal: the rest of the lease that began when the program sent its request.

        Raises Unknown if no acquire had that resource and owner.
        """
        if self._asked.get(renewed.owner) != renewed.resource:
            said = f"renewed: owner {quoted(renewed.owner)} of {quoted(renewed.resource)}"
            raise Unknown(f"{UNUSABLE}{said}, which no acquire of this client had")

        def renew() -> dict[str, Any]:
            left = renewed.called_ns + renewed.ttl_ms * MILLISECOND - time.monotonic_ns()
            if not 0 < left <= renewed.ttl_ms * MILLISECOND:
                when = f"called_ns {renewed.called_ns}: it is not a CLOCK_MONOTONIC time within the lease"
                raise Unknown(f"{UNUSABLE}{when}")
            return {"ttl": left}

        with self._recording:
            if not self._is_leaving:
                self._renewals.call("renew", renewed.resource, renew, owner=renewed.owner)


def _program_is_gone() -> dict[str, Any]:
    raise Unknown("the program was restarted")


class ProgramStorage:
    """The storage side of a program."""

    def __init__(self, program: ProgramClient, restarted: Callable[[], None] = lambda: None) -> None:
        self._program = program
        self._restarted = restarted  # called after the program had to be restarted

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Ask the program to write with a token; calls `sent` if the program reports it."""

        def on_event(event: str, _carried: Mapping[str, Any]) -> None:
            if event == "sent":
                sent()

        self._program.request("write", event=on_event, resource=resource, token=token, value=value)

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Ask the program for the value and the token of the last accepted write."""
        read = convert_fields(ReadResult, self._program.request("read", resource=resource))
        return read.value, read.token

    def fence(self, resource: str, token: int) -> None:
        """Ask the program to raise the mark to a token and keep the value."""
        self._program.request("fence", resource=resource, token=token)

    def reconnect(self) -> None:
        """Ask the program to drop its connections to the storage."""
        if self._program.reconnect("storage"):
            self._restarted()


def set_up(program: ProgramClient, resources: Sequence[str]) -> None:
    """Let a program prepare before the first acquire, if it supports that."""
    try:
        program.request("set_up", within=SETTING_UP, resources=list(resources))
    except Unsupported:
        return


def committed(program: ProgramClient, room: CommitRoom) -> list[Commit] | None:
    """Ask a program for the order in which its storage accepted the writes; None if unsupported.

    Raises Unknown if there is no room for them.
    """
    commits: list[Commit] = []

    def on_event(event: str, carried: Mapping[str, Any]) -> None:
        if event == "commit":
            commit = convert_fields(CommitEvent, carried)
            room.take(len(msgspec.json.encode(carried)))
            commits.append(
                Commit(
                    seq=len(commits) + 1,
                    resource=commit.resource,
                    token=commit.token,
                    value=commit.value,
                    fence=commit.fence,
                )
            )

    try:
        program.request("committed", within=COMMITTED, event=on_event)
    except Unsupported:
        return None
    return commits
