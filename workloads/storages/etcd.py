"""etcd as a fenced register: one key per resource, which holds the mark and the value.

none         a transaction that puts, if the key exists
transaction  it also compares the mark
lock-key     lock and storage share one etcd, and it checks that the lock's key exists

The key's content is the mark as 8 bytes (big-endian), the token of the last write in the
same form, and its value. etcd compares contents byte by byte, so `content < token` holds iff
the mark is lower: with an equal mark the content is longer. Decimal text would compare wrongly.

With lock-key no mark is compared. A token is the create_revision of its lock's key, so the
transaction puts only while one of the lock's keys has that create_revision. It need not know
which one: etcd compares all keys of a range, and unless all differ from the token, one is
the writer's. If the lock is gone, the write is stale if a write with a newer token came
first; otherwise it is not applied.

A fence must keep the value, which no etcd transaction can do. It reads, and puts if the key
has not changed since, so it may lose a race and end as not applied. A fence sets the highest
bit of the stored token, which no token uses: its revisions differ from those of writes even
if the mark does not change.

The commit order is the order of the key's revisions; each watch event counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from checkers.history.records import Commit
from workloads.client import NotApplied, Stale
from workloads.etcd_api import (
    CREATE_REVISION,
    EQUAL,
    GREATER,
    LESS,
    MOD_REVISION,
    NOT_EQUAL,
    VALUE,
    VERSION,
    Connection,
    connection,
    message,
    under,
)
from workloads.locks.etcd import lock_keys
from workloads.settings import StorageSettings, named

_WIDTH = 8  # bytes of a token
_FENCED = 2**63  # the bit of the stored token that marks a revision put by a fence
_NO_TOKEN = 2**64 - 1  # the mark and the stored token of a write without one: above every token


class EtcdStorage:
    """One client of the register."""

    def __init__(self, connection: Connection, fencing: str, policy: str, names: str = "") -> None:
        self._connection = connection
        self._names = names
        self._fencing = fencing
        self._inclusive = policy == "inclusive"

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        key, number = _key(resource, self._names), _NO_TOKEN if token is None else token
        write: dict[str, Any] = {
            "compare": [
                message["Compare"](result=GREATER, target=VERSION, key=key),
                *self._guard(resource, number),
            ],
            "success": [{"request_put": {"key": key, "value": _content(number, number, value)}}],
            "failure": [{"request_range": {"key": key}}],
        }
        if self._fencing == "lock-key":
            answer = self._while_locked(resource, number, write, sent)
        else:
            answer = self._connection.call("KV/Txn", sent=sent, **write)
        if not answer.succeeded:
            if answer.responses[0].response_range.kvs:
                raise Stale
            raise NotApplied(f"no key for {resource}")

    def _while_locked(
        self, resource: str, token: int, write: dict[str, Any], sent: Callable[[], None]
    ) -> Any:
        """Write if a key of the lock has the token as its create_revision; return the answer."""
        first, after = lock_keys(resource, self._names)
        no_key = message["Compare"](
            result=NOT_EQUAL, target=CREATE_REVISION, key=first, range_end=after, create_revision=token
        )
        answer = self._connection.call(
            "KV/Txn", sent=sent, compare=[no_key], success=write["failure"], failure=[{"request_txn": write}]
        )
        if not answer.succeeded:
            return answer.responses[0].response_txn
        found = answer.responses[0].response_range.kvs
        if found and _mark(found[0].value) > token:
            raise Stale
        raise NotApplied("lock lost")

    def _guard(self, resource: str, token: int) -> list[Any]:
        if self._fencing != "transaction":
            return []
        least_stale = token + 1 if self._inclusive else token
        below = _bytes(least_stale)
        return [message["Compare"](result=LESS, target=VALUE, key=_key(resource, self._names), value=below)]

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        found = self._connection.call("KV/Range", key=_key(resource, self._names)).kvs
        return (_value(found[0].value), _token(found[0].value)) if found else (None, 0)

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        key = _key(resource, self._names)
        found = self._connection.call("KV/Range", key=key).kvs
        if not found:
            raise NotApplied(f"no key for {resource}")
        content = found[0].value
        if _mark(content) > token:
            raise Stale
        unchanged = message["Compare"](
            result=EQUAL, target=MOD_REVISION, key=key, mod_revision=found[0].mod_revision
        )
        fenced = _bytes(token) + _bytes(_token_and_bit(content) | _FENCED) + content[2 * _WIDTH :]
        put = {"request_put": {"key": key, "value": fenced}}
        if not self._connection.call("KV/Txn", compare=[unchanged], success=[put]).succeeded:
            raise NotApplied("another write came in between")

    def reconnect(self) -> None:
        """Connect to the next member."""
        self._connection.reconnect()

    def sharing(self, settings: StorageSettings) -> EtcdStorage:
        """Make a client with other settings on the same connection."""
        return _on(self._connection, settings)


def connect(settings: StorageSettings) -> EtcdStorage:
    """Make a client."""
    return _on(connection(settings), settings)


def _on(connection: Connection, settings: StorageSettings) -> EtcdStorage:
    return EtcdStorage(connection, settings.fencing, settings.policy, settings.names)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Put an empty key for each resource: it compares below every token."""
    with closing(connection(settings)) as opened:
        for resource in resources:
            opened.call("KV/Put", key=_key(resource, settings.names), value=b"")


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in revision order."""
    first, after = under(_key("", settings.names))
    with closing(connection(settings)) as opened:
        for event in opened.history(first, after):
            if event.value:  # set_up puts no content
                yield _commit(event, first)


def remove(settings: StorageSettings) -> int:
    """Delete the keys of a run; return how many there were."""
    with closing(connection(settings)) as opened:
        return opened.delete(*under(_key("", settings.names)))


def _commit(event: Any, prefix: bytes) -> Commit:
    fence = _is_fence(event.value)
    return Commit(
        seq=event.mod_revision,
        resource=event.key.removeprefix(prefix).decode(),
        token=_mark(event.value) if fence else _token(event.value),
        value=None if fence else _value(event.value),
        fence=fence,
    )


def _key(resource: str, names: str) -> bytes:
    return f"fencepost-register/{named(names, resource)}".encode()


def _content(mark: int, token: int, value: str) -> bytes:
    return _bytes(mark) + _bytes(token) + value.encode()


def _bytes(token: int) -> bytes:
    return token.to_bytes(_WIDTH, "big")


def _mark(content: bytes) -> int:
    return int.from_bytes(content[:_WIDTH], "big")


def _token(content: bytes) -> int | None:
    if _mark(content) == _NO_TOKEN:
        return None
    return _token_and_bit(content) & ~_FENCED


def _token_and_bit(content: bytes) -> int:
    return int.from_bytes(content[_WIDTH : 2 * _WIDTH], "big")


def _is_fence(content: bytes) -> bool:
    """Was this put by a fence? A write stores its own token as the mark, and a value."""
    return _mark(content) != _token_and_bit(content) or _value(content) is None


def _value(content: bytes) -> str | None:
    return content[2 * _WIDTH :].decode() or None
