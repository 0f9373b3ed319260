"""One race: several clients change one object at once, each on a condition that only one can meet."""

from __future__ import annotations

import enum
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass

from checkers.history.records import Outcome
from harness.atlas.wire import Request, S3Answer, S3Server

CREATED, REPLACED = 1, 2
"""The epochs in the bodies: of an object that was created, and of one that replaced it."""
GONE = 404
ABSENT = {"If-None-Match": "*"}
WRONG_ETAG = f'"{"0" * 32}"'
_REFUSALS = {GONE, 409, 412}
_SUCCESS = range(200, 300)
_PIECES = 4
_RANDOM = secrets.SystemRandom()
_PAUSE = 0.03  # s between the pieces, for all of them to arrive


class ConditionalRequest(enum.StrEnum):
    """What the clients do to the object."""

    CREATE = "create"  # PUT If-None-Match: *
    REPLACE = "replace"  # PUT If-Match
    DELETE = "delete"  # one PUT and one DELETE, If-Match with the same ETag


class Mode(enum.StrEnum):
    """When the bytes of the requests leave."""

    BURST = "burst"  # each request at once
    HELD = "held"  # all but the last byte of each, then all last bytes
    SLOW = "slow"  # all in four pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request of a race."""

    client: int
    method: str
    called: int  # ns
    returned: int  # ns
    status: int | None

    @property
    def outcome(self) -> Outcome:
        """What the answer says: a refusal is 404, 409 or 412, and all but success leaves the rest open."""
        return outcome_of(self.status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """The requests for one key; none if it could not be prepared."""

    key: str
    attempts: tuple[Attempt, ...] = ()
    read: Attempt | None = None  # of the object, after a race with a DELETE

    @property
    def winners(self) -> int:
        """How many clients got a success."""
        return sum(each.outcome is Outcome.OK for each in self.attempts)

    @property
    def is_lost(self) -> bool:
        """Was no request answered?"""
        return all(each.status is None for each in self.attempts)

    @property
    def is_decided(self) -> bool:
        """Does it have a winner, and an answer from each client that says whether it is another?"""
        return self.winners > 1 or (
            self.winners == 1 and all(each.outcome is not Outcome.INFO for each in self.attempts)
        )

    @property
    def removed_a_winner(self) -> bool:
        """Is the object gone although its PUT was acknowledged?"""
        return self.winners > 1 and self.read is not None and self.read.status == GONE


def outcome_of(status: int | None) -> Outcome:
    """Classify an answer: one that was lost, and any error but a refusal, may have taken effect."""
    if status in _REFUSALS:
        return Outcome.FAIL
    return Outcome.OK if status in _SUCCESS else Outcome.INFO


def body_of(owner: str, epoch: int, size: int) -> bytes:
    """Return an object of `size` bytes, which no other one equals: an ETag is the MD5 of a body."""
    content = {"owner": owner, "epoch": epoch, "nonce": secrets.token_hex(8), "padding": ""}
    return json.dumps(content | {"padding": "." * (size - len(json.dumps(content)))}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Racers:
    """The clients, and the objects for which they race."""

    server: S3Server
    clients: int
    size: int  # bytes of an object
    pool: Executor  # a thread for each client
    fault: Callable[[], AbstractContextManager[object]] = nullcontext
    """What happens to the server while the last bytes are sent."""

    def race(self, operation: ConditionalRequest, mode: Mode, key: str) -> Race:
        """Prepare an object, and let the clients race for it; one PUT and one DELETE if it is deleted."""
        condition, epoch = ABSENT, CREATED
        if operation is not ConditionalRequest.CREATE:
            condition, epoch = {"If-Match": put(self.server, key, self.size).etag}, REPLACED
            if not condition["If-Match"]:
                return Race(key=key)
        puts = 1 if operation is ConditionalRequest.DELETE else self.clients
        bodies = (body_of(f"c{client}", epoch, self.size) for client in range(puts))
        requests = [self.server.request("PUT", key, body, condition) for body in bodies]
        if operation is not ConditionalRequest.DELETE:
            return Race(key=key, attempts=self._attempts(requests, mode))
        requests.append(self.server.request("DELETE", key, headers=condition))
        attempts = self._attempts(requests, mode)
        called = time.monotonic_ns()
        status = self.server.ask(self.server.request("GET", key)).status
        read = Attempt(client=2, method="GET", called=called, returned=time.monotonic_ns(), status=status)
        return Race(key=key, attempts=attempts, read=read)

    def _attempts(self, requests: Sequence[Request], mode: Mode) -> tuple[Attempt, ...]:
        with ExitStack() as stack:
            try:
                exchanges = [stack.enter_context(self.server.exchange(each)) for each in requests]
            except OSError:
                return ()  # nothing has been sent
            order = _RANDOM.sample(range(len(requests)), len(requests))
            called = time.monotonic_ns()
            *first, last = zip(*(pieces_of(each, mode) for each in requests), strict=True)
            for pieces in first:
                for client in order:
                    exchanges[client].send(pieces[client])
                time.sleep(_PAUSE)
            with self.fault():
                for client in order:
                    exchanges[client].send(last[client])

            def finished(client: int) -> Attempt:
                status = exchanges[client].answer().status
                return Attempt(
                    client=client,
                    method=requests[client].method,
                    called=called,
                    returned=time.monotonic_ns(),
                    status=status,
                )

            return tuple(self.pool.map(finished, range(len(requests))))


def put(server: S3Server, key: str, size: int, condition: Mapping[str, str] | None = None) -> S3Answer:
    """Put an object of epoch 1."""
    return server.ask(server.request("PUT", key, body_of("setup", CREATED, size), condition))


def pieces_of(request: Request, mode: Mode) -> list[bytes]:
    """Split a request as its mode says; a DELETE has no body, so its head is split."""
    whole = request.head + request.body
    if mode is Mode.BURST:
        return [whole]
    if mode is Mode.HELD:
        return [whole[:-1], whole[-1:]]
    step = max(len(request.body) // _PIECES, 1)
    cuts = [len(whole) - step * left for left in range(_PIECES - 1, 0, -1)]
    return [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
