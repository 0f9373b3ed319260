"""A lock and a storage that are one program, and what the harness itself asks of a program."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from checkers.history import Commit
from workloads.client import Grant, Session, Unknown
from workloads.line_protocol.conversation import Conversation, Unsupported
from workloads.line_protocol.messages import Committed, Granted, Held, Read, Renewed, taken_as

MILLISECOND = 1_000_000  # ns
SECOND = 1_000_000_000  # ns
PATIENCE = 3  # TTLs that an acquire may wait for the lock
SETTING_UP = 30.0  # seconds
COMMITTED = 300.0  # seconds


class LineLock:
    """The lock of a program: a hold at a time.

    Renewals that the program tells of are recorded in `renewals`.
    """

    def __init__(self, conversation: Conversation, renewals: Session, ttl: int) -> None:
        self._conversation = conversation
        self._renewals = renewals
        self._ttl = ttl  # ns
        self._hold: tuple[str, str] | None = None  # resource and owner
        conversation.renewed = self._record

    def acquire(self, resource: str, owner: str) -> Grant:
        """Have it wait for the lock and take it."""
        self._hold = (resource, owner)
        called = time.monotonic_ns()
        wait = PATIENCE * self._ttl
        carried = self._conversation.ask(
            "acquire",
            within=wait / SECOND,
            event=self._told,
            resource=resource,
            owner=owner,
            wait_ms=wait // MILLISECOND,
        )
        granted = taken_as(Granted, carried)
        attempt = granted.attempt_ns
        if attempt is not None and not called <= attempt <= time.monotonic_ns():
            raise Unknown(
                f"attempt_ns {attempt} is no time of CLOCK_MONOTONIC since the acquire was asked for"
            )
        ttl = None if granted.ttl_ms is None else granted.ttl_ms * MILLISECOND
        return Grant(token=granted.token, ttl=ttl, attempt=attempt)

    def _told(self, event: str, carried: Mapping[str, Any]) -> None:
        if event == "granted" and self._hold is not None:
            held = taken_as(Held, carried)
            self._renewals.granted(*self._hold)
            if held.wait:
                self._conversation.go_on()

    def release(self, resource: str, owner: str) -> None:
        """Have it give the lock back if it is still its own."""
        self._hold = None
        self._conversation.ask("release", resource=resource, owner=owner)

    def revoke(self, resource: str, owner: str) -> None:
        """Have it take back an acquire whose outcome is not known."""
        self._hold = None
        self._conversation.ask("revoke", resource=resource, owner=owner)

    def reconnect(self) -> None:
        """Have it drop its connections to the lock service."""
        self._conversation.reconnect("lock")

    def restarted(self) -> None:
        """Record that the hold, if there is one, may have ended with the program that had it."""
        if self._hold is not None:
            resource, owner = self._hold
            self._renewals.call("release", resource, _program_is_gone, owner=owner)
            self._hold = None

    def close(self) -> None:
        """End the program."""
        self._conversation.close()

    def _record(self, renewed: Renewed) -> None:
        """Record a renewal from now on: what is left of the lease that began when its request left."""
        if self._hold != (renewed.resource, renewed.owner):
            return

        def renew() -> dict[str, Any]:
            left = renewed.called_ns + renewed.ttl_ms * MILLISECOND - time.monotonic_ns()
            if not 0 < left <= renewed.ttl_ms * MILLISECOND:
                raise Unknown(f"called_ns {renewed.called_ns} is no time of CLOCK_MONOTONIC within the lease")
            return {"ttl": left}

        self._renewals.call("renew", renewed.resource, renew, owner=renewed.owner)


def _program_is_gone() -> dict[str, Any]:
    raise Unknown("the program was started anew")


class LineStorage:
    """The storage of a program."""

    def __init__(self, conversation: Conversation, restarted: Callable[[], None]) -> None:
        self._conversation = conversation
        self._restarted = restarted  # called when the program had to be started anew

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Have it write under a token; `sent` is called if the program says so."""

        def told(event: str, _carried: Mapping[str, Any]) -> None:
            if event == "sent":
                sent()

        self._conversation.ask("write", event=told, resource=resource, token=token, value=value)

    def read(self, resource: str) -> tuple[str | None, int]:
        """Have it read the value and the token of the last accepted write."""
        read = taken_as(Read, self._conversation.ask("read", resource=resource))
        return read.value, read.token

    def fence(self, resource: str, token: int) -> None:
        """Have it raise the mark to a token and leave the value."""
        self._conversation.ask("fence", resource=resource, token=token)

    def reconnect(self) -> None:
        """Have it drop its connections to the storage."""
        if self._conversation.reconnect("storage"):
            self._restarted()


def set_up(conversation: Conversation, resources: Sequence[str]) -> None:
    """Have a program make what it needs before the first acquire, if it needs anything."""
    try:
        conversation.ask("set_up", within=SETTING_UP, resources=list(resources))
    except Unsupported:
        return


def committed(conversation: Conversation) -> list[Commit] | None:
    """Have a program tell the order in which its storage accepted the writes; None if it knows none."""
    commits: list[Commit] = []

    def told(event: str, carried: Mapping[str, Any]) -> None:
        if event == "commit":
            commit = taken_as(Committed, carried)
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
        conversation.ask("committed", within=COMMITTED, event=told)
    except Unsupported:
        return None
    return commits
