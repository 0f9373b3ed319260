"""Redis as a fenced register: one hash per resource, and a script that compares and writes.

none     the token is stored, but not compared
script   the script refuses a token below the mark (strict: or equal to it)

Tokens are compared as decimal strings of any length: Lua's numbers are doubles, which
cannot tell large integers apart. Each accepted write and fence adds an entry to a stream, in
the same script: that is the commit order. A request is one message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, as_stored, from_stored
from workloads.commit_room import CommitRoom
from workloads.redis_connection import RedisConnection, connection
from workloads.settings import StorageSettings, named

__all__ = [
    "NEVER",
    "STALE",
    "Commands",
    "RedisStorage",
    "committed",
    "connect",
    "connection",
    "key",
    "log_key",
    "remove",
    "set_up",
]

_PAGE = 1000  # entries read at a time
_COMPARE = """
local function below(a, b)
    if b == '-1' then return false end -- the mark before the first write
    if a == '-1' then return true end
    if #a ~= #b then return #a < #b end
    return a < b
end
local mark = redis.call('HGET', KEYS[1], 'mark')
if not mark then return 'missing' end
local token = ARGV[1]
if {stale} then return 'stale' end
"""
_FENCE = (
    _COMPARE.format(stale="below(token, mark)")
    + """
redis.call('HSET', KEYS[1], 'mark', token)
redis.call('XADD', KEYS[2], '*', 'resource', ARGV[2], 'token', token, 'fence', '1')
return 'accepted'
"""
)
_WRITE = """
redis.call('HSET', KEYS[1], 'mark', token, 'token', token, 'value', ARGV[2])
"""
_LOG = """
redis.call('XADD', KEYS[2], '*', 'resource', ARGV[3], 'token', token, 'value', ARGV[2])
"""
_ACCEPTED = """
return 'accepted'
"""
NEVER = "false"
STALE = {"strict": "not below(mark, token)", "inclusive": "below(token, mark)"}
"""The Lua condition for a stale token, by policy."""


class Commands(Protocol):
    """Sends commands to the server, as `RedisConnection` does."""

    def execute(self, *command: str | int, sent: Callable[[], None] | None = None) -> Any:
        """Send one command, call `sent`, and return its answer."""

    def close(self) -> None:
        """Drop the connection; the next command opens a new one."""


class RedisStorage:
    """One client of the register; `stale` is its script's condition on `token` and `mark`, two strings."""

    def __init__(self, connection: Commands, stale: str, names: str = "", *, logged: bool = True) -> None:
        self._connection = connection
        self._names = names
        self._write = script(stale, logged=logged)

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        keys = self._keys(resource)
        number = as_stored(token)
        answer = self._connection.execute("EVAL", self._write, 2, *keys, number, value, resource, sent=sent)
        _expect_accepted(answer, resource)

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        value, token = self._connection.execute("HMGET", key(resource, self._names), "value", "token")
        return value, from_stored(int(token or 0))

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        answer = self._connection.execute("EVAL", _FENCE, 2, *self._keys(resource), token, resource)
        _expect_accepted(answer, resource)

    def _keys(self, resource: str) -> tuple[str, str]:
        return key(resource, self._names), log_key(self._names)

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def sharing(self, settings: StorageSettings) -> RedisStorage:
        """Make a client with other settings on the same connection."""
        return _on(self._connection, settings)


def script(stale: str, *, logged: bool) -> str:
    """Return the script of a write; its keys are the hash and the log, its arguments those of `write`."""
    return _COMPARE.format(stale=stale) + _WRITE + (_LOG if logged else "") + _ACCEPTED


def connect(settings: StorageSettings) -> RedisStorage:
    """Make a client."""
    return _on(connection(settings), settings)


def _on(connection: Commands, settings: StorageSettings) -> RedisStorage:
    stale = NEVER if settings.fencing == "none" else STALE[settings.policy]
    return RedisStorage(connection, stale, settings.names, logged=settings.logged)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Create a hash for each resource, with a mark below every token."""
    with closing(connection(settings)) as opened:
        for resource in resources:
            opened.execute("HSET", key(resource, settings.names), "mark", UNWRITTEN, "token", UNWRITTEN)


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in commit order."""
    most = CommitRoom(settings.recorded).most
    with closing(connection(settings)) as opened:
        for seq, fields in enumerate(_logged(opened, log_key(settings.names), most), 1):
            yield _commit(seq, fields)


def _logged(opened: RedisConnection, log: str, most: int) -> Iterator[list[str]]:
    after = "-"
    while page := opened.execute("XRANGE", log, after, "+", "COUNT", _PAGE, limit=most):
        for _, fields in page:
            yield fields
        after = f"({page[-1][0]}"


def remove(settings: StorageSettings) -> int:
    """Delete the keys of a run; return how many there were."""
    with closing(connection(settings)) as opened:
        return opened.delete(f"fencepost/{settings.names}/")


def _expect_accepted(answer: str, resource: str) -> None:
    if answer == "stale":
        raise Stale
    if answer != "accepted":
        raise NotApplied(f"no hash for {resource}")


def _commit(seq: int, fields: list[str]) -> Commit:
    entry = dict(zip(fields[::2], fields[1::2], strict=True))
    token = from_stored(int(entry["token"])) if "token" in entry else None
    if "fence" in entry:
        return Commit(seq=seq, resource=entry["resource"], token=token, fence=True)
    return Commit(seq=seq, resource=entry["resource"], token=token, value=entry["value"])


def key(resource: str, names: str = "") -> str:
    """Return the key of a resource's hash."""
    return f"fencepost/{named(names, resource)}"


def log_key(names: str = "") -> str:
    """Return the key of the stream of accepted writes."""
    return f"fencepost/{named(names, 'log')}"
