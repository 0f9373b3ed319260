"""Append: each client adds run-unique elements to a list while it holds its lock.

Storages hold values, so the list is read as a whole and written back with one element
more: a read-modify-write, which is what a lock is for. A fence alone does not make it
safe: an older holder's write can arrive, with a token that is still good, after the new
holder has read. A new holder that raises the mark before it reads closes that gap
(`fence_on_acquire`).

acquire, one append, a read, release: a holder whose append ended in info must take a new
token before its next, since its own late write would pass the fence.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from checkers.records import Commit
from workloads.holds import Client, Hold


def work(client: Client, hold: Hold) -> None:
    """Append one element, and read."""
    client.pause_for_thought()
    _append(client, hold, f"{hold.owner}.0")
    client.pause_for_thought()
    client.read(hold.resource, _list)


def _append(client: Client, hold: Hold, element: str) -> None:
    known: dict[str, Any] = {}

    def append() -> dict[str, Any]:
        value, _ = client.storage.read(hold.resource)
        known["read"] = _list(value)
        client.reached("list-read", hold)
        client.pause_for_thought()
        client.reached("before-write", hold)
        written = known["written"] = [*known["read"], element]
        text = json.dumps(written)
        client.storage.write(hold.resource, hold.token, text, lambda: client.reached("write-sent", hold))
        return {}

    client.write("append", hold, append, element=element, known=known)


def with_list(commit: Commit) -> Commit:
    """A commit of this workload: the storage holds the list as text."""
    return commit if commit.fence else replace(commit, value=tuple(json.loads(str(commit.value))))


def _list(value: str | None) -> list[str]:
    """A storage that holds nothing yet holds the empty list."""
    found: list[str] = json.loads(value or "[]")
    return found
