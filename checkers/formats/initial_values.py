"""The initial value of an object: from `--initial`, and as a write before all others."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from checkers.formats import json_values
from checkers.formats.atoms import Char, Keyword, Symbol
from checkers.formats.edn import Tagged
from checkers.formats.event import Call
from checkers.formats.operations import with_article
from checkers.formats.values import Map, frozen, written
from checkers.history.records import Outcome
from checkers.text.errors import ModelError

_KINDS = {Keyword: "keyword", Char: "character", Tagged: "tagged literal", frozenset: "set", Symbol: "symbol"}
HAS_INITIAL = "the header of a Fencepost history has its initial value: drop --initial"


def start_of(model: str, value: object) -> Hashable:
    """Return a JSON value as an object's initial value; ModelError if `model` cannot start with it."""
    try:
        return frozen(value)
    except ValueError as error:
        raise ModelError(f"{with_article(model)} cannot start with that: {error}") from None


def in_json(value: Hashable) -> str:
    """Format a value as `--initial` takes it; ValueError if JSON has no such value."""
    match value:
        case None:
            return "null"
        case str():
            return json.dumps(value, ensure_ascii=not value.isprintable())
        case int():
            return str(value)
        case Symbol(name=name) if _is_of_json(name):
            return name  # a boolean, or a number that is not whole
        case tuple():
            return f"[{', '.join(map(in_json, value))}]"
        case Map(items=items):
            strange = sorted(written(key) for key, _ in items if not isinstance(key, str))
            if strange:
                raise ValueError(f"the names in an object of JSON are texts, not {strange[0]}")
            return f"{{{', '.join(sorted(f'{in_json(key)}: {in_json(item)}' for key, item in items))}}}"
    raise ValueError(f"JSON has no {_kind(value)} {written(value)}")


def _is_of_json(word: str) -> bool:
    try:
        json_values.loads(word)
    except ValueError:
        return False
    return True


def _kind(value: Hashable) -> str:
    """Return EDN's name for a kind of value that JSON does not have."""
    if isinstance(value, Symbol) and value.name.lstrip("+-")[:1].isdigit():
        return "ratio or exact decimal"
    return _KINDS.get(type(value), "value")


def first_writes(
    value: Hashable, keys: Iterable[Hashable], others: Iterable[int], time: int | None = None
) -> Iterator[Call]:
    """Yield the initial values of registers as writes before all others, by a process other than `others`."""
    objects = list(keys)
    stranger, ok, times = 1 + max(others, default=0), Outcome.OK, (time, time)
    write = Call(process=stranger, f="write", asked=value, outcome=ok, called=0, times=times, lines=(1, 1))
    for place, key in enumerate(objects, start=-len(objects)):
        yield replace(write, key=key, called=2 * place, completed=2 * place + 1)
