"""Append: each client adds run-unique elements to a list while it holds its lock.

Storages hold values, so the client reads the whole list and writes it back with one more
element: a read-modify-write, which is what a lock is for. A fence alone does not make it
safe: an older holder's write can arrive, with a token that is still valid, after the new
holder has read. A new holder closes that gap by raising the mark before it reads
(`fence_on_acquire`).

A client acquires, appends once, reads and releases. After an append that ended in info it
needs a new token before the next one, because its own late write would pass the fence.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec

from checkers.history.records import Commit
from checkers.text.printable import quoted
from workloads.client import Unknown
from workloads.client_loop import Client, HeldLock


def work(client: Client, held: HeldLock) -> None:
    """Append one element, then read."""
    client.think()
    _append(client, held, f"{held.owner}.0")
    client.think()
    client.read(held.resource, _list)


def _append(client: Client, held: HeldLock, element: str) -> None:
    known: dict[str, Any] = {}

    def append() -> dict[str, Any]:
        value, _ = client.storage.read(held.resource)
        known["read"] = _list(value)
        client.reached("list-read", held)
        client.think()
        client.reached("before-write", held)
        written = known["written"] = [*known["read"], element]
        text = json.dumps(written)
        client.storage.write(held.resource, held.token, text, lambda: client.reached("write-sent", held))
        return {}

    client.write("append", held, append, element=element, known=known)


def with_parsed_list(commit: Commit) -> Commit:
    """Parse the list of a commit; the storage holds it as text. Unknown if it is none."""
    return commit if commit.fence else replace(commit, value=tuple(_list(str(commit.value))))


def _list(value: str | None) -> list[str]:
    """Parse a list; a storage without a value holds the empty list. Unknown if it is none of ours."""
    try:
        return msgspec.json.decode(value or "[]", type=list[str])
    except (msgspec.DecodeError, ValueError) as error:
        raise Unknown(f"not a list of texts: {quoted(value)}: {error}") from error
