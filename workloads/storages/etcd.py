"""etcd as a fenced register: one key a resource, which holds the mark and the value.

none         a transaction that puts, if the key is there
transaction  it compares the mark first

The key's content is the token as 8 bytes, the highest first, and then the value. etcd
compares contents byte by byte, so that `content < token` holds iff the mark is lower:
with an equal mark the content is longer. Decimal text would compare wrongly.

The committed order is that of the key's revisions, each event of a watch counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from checkers.history import Commit
from workloads.client import NotApplied, Stale
from workloads.etcd_api import GREATER, LESS, VALUE, VERSION, Connection, message
from workloads.settings import StorageSettings

_TOKEN = 8  # bytes
_REGISTERS = b"fencepost-register/"
_AFTER = b"fencepost-register0"  # the first key that is none of them


class EtcdStorage:
    """One client of the register."""

    def __init__(self, connection: Connection, fencing: str, policy: str) -> None:
        self._connection = connection
        self._fencing = fencing
        self._inclusive = policy == "inclusive"

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, guarded as the fencing says."""
        key = _key(resource)
        answer = self._connection.call(
            "KV/Txn",
            sent=sent,
            compare=[
                message["Compare"](result=GREATER, target=VERSION, key=key),
                *self._guard(resource, token),
            ],
            success=[{"request_put": {"key": key, "value": _content(token, value)}}],
            failure=[{"request_range": {"key": key}}],
        )
        if not answer.succeeded:
            if answer.responses[0].response_range.kvs:
                raise Stale
            raise NotApplied(f"no key for {resource}")

    def _guard(self, resource: str, token: int) -> list[Any]:
        if self._fencing == "none":
            return []
        least_stale = token + 1 if self._inclusive else token
        below = least_stale.to_bytes(_TOKEN, "big")
        return [message["Compare"](result=LESS, target=VALUE, key=_key(resource), value=below)]

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return the value and the token of the last accepted write."""
        found = self._connection.call("KV/Range", key=_key(resource)).kvs
        return (_value(found[0].value), _token(found[0].value)) if found else (None, 0)

    def reconnect(self) -> None:
        """Turn to the next member on a new connection."""
        self._connection.reconnect()


def connect(settings: StorageSettings) -> EtcdStorage:
    """Make a client."""
    return EtcdStorage(_connection(settings), settings.fencing, settings.policy)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Put a key with the mark 0 and no value for each resource."""
    with closing(_connection(settings)) as connection:
        for resource in resources:
            connection.call("KV/Put", key=_key(resource), value=_content(0, ""))


def committed(settings: StorageSettings) -> list[Commit]:
    """Read the accepted writes in the order of their revisions."""
    with closing(_connection(settings)) as connection:
        events = connection.history(_REGISTERS, _AFTER)
    return [
        Commit(
            seq=event.mod_revision,
            resource=event.key.removeprefix(_REGISTERS).decode(),
            token=_token(event.value),
            value=_value(event.value),
        )
        for event in events
        if _value(event.value) is not None  # what set_up has put
    ]


def _connection(settings: StorageSettings) -> Connection:
    return Connection(settings.endpoints, settings.timeout)


def _key(resource: str) -> bytes:
    return _REGISTERS + resource.encode()


def _content(token: int, value: str) -> bytes:
    return token.to_bytes(_TOKEN, "big") + value.encode()


def _token(content: bytes) -> int:
    return int.from_bytes(content[:_TOKEN], "big")


def _value(content: bytes) -> str | None:
    return content[_TOKEN:].decode() or None
