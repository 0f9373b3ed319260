"""Jepsen's independent keys: one history of several objects, each value a pair `[key value]`.

Linearizability is local: a history of several objects is right iff the history of each
object is (Herlihy and Wing, 1990), so each key can be judged by itself.

The file does not say that values are pairs. We assume it iff the value of every
invoke is one: a plain read has nil and a plain cas [expected new], while
independent keys give [key [expected new]] or [key expected new].
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace

from checkers.formats.atoms import Symbol, quoted
from checkers.formats.event import Call
from checkers.formats.values import in_edn, pair_of, written
from checkers.history.operation import NO_VALUE
from checkers.text.errors import HistoryError
from checkers.text.places import cited

_LITERAL = re.compile(r"nil|true|false|[+-]?[0-9][0-9.eE+/M-]*")
_SIGNS = (":", "#", "[", "(", "{", '"', "'", "\\")


def split_keys(calls: Sequence[Call], file: str) -> tuple[tuple[Call, ...], tuple[str, ...]]:
    """Separate keys and values of the calls, if their values are such pairs; return notices about them too.

    Raises:
        HistoryError: a call asked about one key and was answered about another, or
            one names its key and another does not.
    """
    if not calls or not all(map(_has_pair, calls)):
        _check_all_named(calls, file)
        return tuple(calls), ()
    split = tuple(_split(call, file) for call in calls)
    keys = len({call.key for call in split})
    said = "there is one key" if keys == 1 else f"the {keys} keys are judged one by one"
    return split, (f"{file}: every value is a pair [key value]; {said}",)


def _check_all_named(calls: Sequence[Call], file: str) -> None:
    named = next((call for call in calls if call.key is not None), None)
    bare = next((call for call in calls if call.key is None), None)
    if named is not None and bare is not None:
        problem = f"{bare.f} names no key, but {cited(named.lines[0])} names {written(named.key)}"
        raise HistoryError(file, bare.lines[0], problem)


def _has_pair(call: Call) -> bool:
    pair = _key_and_value(call.f, call.asked)
    return call.key is None and pair is not None and pair[0] is not None


def _key_and_value(f: str, value: Hashable) -> tuple[Hashable, Hashable] | None:
    match f, value:
        case "cas", (key, (_, _) as change):
            return key, change
        case "cas", (key, expected, new):
            return key, (expected, new)
        case "cas", _:
            return None
    return pair_of(value)


def _split(call: Call, file: str) -> Call:
    key, asked = _key_and_value(call.f, call.asked) or (None, None)
    answered = call.answered
    if answered is not NO_VALUE:
        pair = _key_and_value(call.f, answered)
        if pair is None or pair[0] != key:
            problem = f"{written(answered)} is the answer to a request for the key {written(key)}"
            raise HistoryError(file, call.lines[-1], problem)
        answered = pair[1]
    return replace(call, key=key, asked=asked, answered=answered)


def name_of(key: Hashable) -> str:
    """Return the name of a key: a text as it is, anything else in EDN.

    No two keys share a name: a text that could be taken for another kind of value is put
    in quotes, and a symbol gets one in front, as in Clojure.
    """
    if isinstance(key, str):
        return quoted(key) if _LITERAL.fullmatch(key) or key.startswith(_SIGNS) else key
    in_full = in_edn(key)
    return f"'{in_full}" if isinstance(key, Symbol) and not _LITERAL.fullmatch(in_full) else in_full
