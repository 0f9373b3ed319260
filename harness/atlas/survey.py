"""The races of all operations in all modes, after a check without a race of whether conditions count."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from checkers.history.records import Outcome
from harness.atlas.cells import AtlasCell
from harness.atlas.race import (
    ABSENT,
    WRONG_ETAG,
    ConditionalRequest,
    Mode,
    Race,
    Racers,
    body_of,
    outcome_of,
    put,
)
from harness.atlas.wire import S3Answer, S3Server
from harness.core.errors import ConfigurationError, InfrastructureError

_MOST_LOST = 3  # races in a row without any answer, after which the server is left alone
_SERVER_ERROR = 500
_CREATE, _REPLACE, _DELETE = ConditionalRequest
_CODE = re.compile(rb"<Code>(\w{1,80})</Code>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What is raced; `written` collects the keys that may exist."""

    server: S3Server
    operations: Sequence[ConditionalRequest] = tuple(ConditionalRequest)
    keys: int = 200  # of each operation in each mode
    clients: int = 16
    size: int = 1024  # bytes of an object
    prefix: str = field(default_factory=lambda: f"fencepost-atlas-{secrets.token_hex(8)}/")
    written: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many requests it sends before it removes what it wrote, if every operation is raced."""
        clients = self.clients
        return self._sum({_CREATE: (2, clients), _REPLACE: (4, 1 + clients), _DELETE: (4, 4)})

    @property
    def bytes(self) -> int:
        """How many bytes of objects that is."""
        clients = self.clients
        return self.size * self._sum({_CREATE: (2, clients), _REPLACE: (4, 1 + clients), _DELETE: (2, 2)})

    def _sum(self, of: dict[ConditionalRequest, tuple[int, int]]) -> int:
        """Add what each operation's check and each of its races take, and one for the first request."""
        raced = len(Mode) * self.keys
        return 1 + sum(of[each][0] + raced * of[each][1] for each in self.operations)

    def run(self, pool: Executor) -> Iterator[AtlasCell]:
        """Yield each cell once it is raced.

        Raises InfrastructureError if the server cannot be reached or is none of S3, and
        ConfigurationError if it refuses us.
        """
        self._reach()
        racers = Racers(server=self.server, clients=self.clients, size=self.size, pool=pool)
        for operation in self.operations:
            if unraced := self._check(operation):
                yield unraced
                continue
            for mode in Mode:
                cell = self._raced(operation, mode, racers)
                yield cell
                if cell.reason:
                    return

    def _key(self, *words: object) -> str:
        key = self.prefix + "-".join(map(str, words))
        self.written.append(key)
        return key

    def _reach(self) -> None:
        server = self.server
        try:
            with server.exchange(server.request("GET")):
                pass  # nothing is sent
        except OSError as error:
            raise InfrastructureError(f"{server.name} cannot be reached: {error}") from None
        answer = put(server, self._key("first"), self.size)
        if answer.status is None:
            raise InfrastructureError(
                f"{server.name} gave no complete answer to a PUT within {server.timeout:g} s:"
                " is it a server of S3?"
            )
        if outcome_of(answer.status) is Outcome.OK:
            if not answer.etag:
                raise InfrastructureError(f"{server.name} gives no ETag: is it a server of S3?")
            return
        refusal = f"{server.name} does not let us write to the bucket {server.bucket}: {_described(answer)}"
        if answer.status >= _SERVER_ERROR:
            raise InfrastructureError(refusal)
        self.written.clear()
        raise ConfigurationError(f"{refusal}; check --bucket, --region, --user and --password-env")

    def _check(self, operation: ConditionalRequest) -> AtlasCell | None:
        """Return a cell that says why this operation is not raced; None if its condition counts."""
        server, key = self.server, self._key(operation, "check")
        is_create = operation is _CREATE
        method = "DELETE" if operation is _DELETE else "PUT"

        def changed(method: str, condition: dict[str, str]) -> S3Answer:
            body = body_of("check", 1, self.size) if method == "PUT" else b""
            return server.ask(server.request(method, key, body, condition))

        def accepted(what: str, answer: S3Answer) -> AtlasCell | None:
            """Return a cell unless what must be refused was refused."""
            match outcome_of(answer.status):
                case Outcome.OK:
                    said = f"{what} was accepted: {_described(answer)}, without any race"
                    return AtlasCell(operation=operation, is_ignored=True, reason=said)
                case Outcome.INFO:
                    return _unraced(operation, f"{what} was not refused as by S3: {_described(answer)}")
            return None

        first = put(server, key, self.size, ABSENT if is_create else None)
        if outcome_of(first.status) is not Outcome.OK:
            what = "with If-None-Match: * of a new object" if is_create else "of a new object"
            return _unraced(operation, f"a PUT {what} was not accepted: {_described(first)}")
        wrong = changed(method, ABSENT if is_create else {"If-Match": WRONG_ETAG})
        what = "a second PUT with If-None-Match: *" if is_create else f"a {method} with the ETag of no object"
        found = accepted(what, wrong)
        if is_create or found:
            return found
        right = changed(method, {"If-Match": first.etag})
        if outcome_of(right.status) is not Outcome.OK:
            refused = f"a {method} with the right ETag was not accepted: {_described(right)}"
            return _unraced(operation, refused)
        fate = "deleted" if operation is _DELETE else "replaced"
        return accepted(f"a PUT with the ETag of a {fate} object", changed("PUT", {"If-Match": first.etag}))

    def _raced(self, operation: ConditionalRequest, mode: Mode, racers: Racers) -> AtlasCell:
        races: list[Race] = []
        reason = ""
        for number in range(self.keys):
            key = self._key(operation, mode, number)
            races.append(racers.race(operation, mode, key))
            if len(races) >= _MOST_LOST and all(race.is_lost for race in races[-_MOST_LOST:]):
                reason = f"{_MOST_LOST} races in a row got no answer, so no more were started."
                break
        return AtlasCell(operation=operation, mode=mode, races=races, reason=reason)


def _unraced(operation: ConditionalRequest, reason: str) -> AtlasCell:
    return AtlasCell(operation=operation, reason=reason)


def _described(answer: S3Answer) -> str:
    """Describe an answer, with S3's own word for an error."""
    if answer.status is None:
        return "no answer"
    code = _CODE.search(answer.body)
    return f"answered {answer.status}{f' {code[1].decode()}' if code else ''}"
