"""Jepsen's independent keys: one history of several objects, each value a pair `[key value]`.

Linearizability is local: a history of several objects is right iff that of each
one is (Herlihy and Wing, 1990), so each key can be judged by itself.

Nothing in the file says that values are pairs of that kind. They are taken so
iff every call asks with one: a plain read asks with nil, and a plain cas with
[expected new], where an independent one asks with [key [expected new]].
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from checkers.errors import HistoryError
from checkers.formats.event import Call
from checkers.operation import UNKNOWN


def split_keys(calls: Sequence[Call], file: str) -> tuple[Call, ...]:
    """The calls with key and value apart, where their values are pairs of the two.

    Raises:
        HistoryError: a call asked about one key and was answered about another.
    """
    if not calls or not all(map(_has_key, calls)):
        return tuple(calls)
    return tuple(_split(call, file) for call in calls)


def _has_key(call: Call) -> bool:
    pair = _pair(call.asked)
    if call.key is not None or pair is None or pair[0] is None:
        return False
    return call.f != "cas" or _pair(pair[1]) is not None


def _pair(value: Hashable) -> tuple[Hashable, Hashable] | None:
    return value if isinstance(value, tuple) and len(value) == 2 else None  # noqa: PLR2004


def _split(call: Call, file: str) -> Call:
    key, asked = _pair(call.asked) or (None, None)
    answered = call.answered
    if answered is not UNKNOWN:
        told = _pair(answered)
        if told is None or told[0] != key:
            raise HistoryError(
                file, call.lines[-1], f"{answered!r:.80} answers a question about the key {key!r:.80}"
            )
        answered = told[1]
    return replace(call, key=key, asked=asked, answered=answered)
