"""[vary]: settings that each run of a target draws from its seed.

A run has the drawn values in its own target file, which has no [vary], so everything that repeats or
judges a run needs to know nothing about it. Each value is valid in all combinations with the others.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from checkers.text.nearest import repeated
from checkers.text.redaction import names_a_password
from harness.spec.file_errors import Problem
from harness.spec.overrides import key_of, set_at
from harness.spec.toml import MAX_DEPTH, Key, as_dotted, literal

VARY = "vary"
MOST = 256
"""The maximum number of combinations: each is checked when the file is read."""
_BILLION = 10**9
_FIXED = ("name", "expect", "may", "reuse", VARY)
_Combination = Mapping[Key, object]


def draw(data: Mapping[str, Any], seed: int) -> dict[str, object]:
    """Draw a value for each dotted key; a key's value depends only on the seed and its own list."""
    return {
        as_dotted(key): random.Random(f"{seed}/vary/{as_dotted(key)}").choice(values)
        for _, key, values in _entries(data)
    }


def varied(data: Mapping[str, Any], drawn: Mapping[Key, object]) -> dict[str, Any] | None:
    """Return the data of a run: without [vary], with these values; None if there is no place for one."""
    changed = {name: copy.deepcopy(value) for name, value in data.items() if name != VARY}
    return changed if all(set_at(changed, key, value) for key, value in drawn.items()) else None


def keep_fixed(data: dict[str, Any], key: Key) -> None:
    """Let a setting vary no more, nor what is in it: the command line has set it."""
    for place, varying, _ in [*_entries(data)]:
        if place and varying[: len(key)] == key:
            table = data[VARY]
            for name in place[:-1]:
                table = table[name]
            del table[place[-1]]


def problems_of_vary(
    data: Mapping[str, Any], known: Sequence[Problem], check: Callable[[Mapping[str, Any]], Sequence[Problem]]
) -> list[Problem]:
    """Return the errors of [vary]; `known` are those of the rest of the file, and `check` finds them."""
    if not isinstance(data.get(VARY, {}), dict):
        return []  # its model says so
    entries = [*_entries(data)]
    wrong = [
        Problem((VARY, *place), what, data)
        for place, key, values in entries
        if (what := _wrong(key, values)) is not None
    ]
    twice = set(repeated(key for _, key, _ in entries))
    wrong += [Problem((VARY, *place), "is given twice", data) for place, key, _ in entries if key in twice]
    count = math.prod(len(values) for _, _, values in entries) if not wrong else 0
    if count > MOST:
        shown = f"{count:,}" if count < _BILLION else "more than a billion"
        return [Problem((VARY,), f"has {shown} combinations; at most {MOST} are possible", data)]
    places = {problem.key[1:] for problem in wrong}
    right = [entry for entry in entries if entry[0] not in places]
    before = {(problem.key, problem.what) for problem in known}
    return [*wrong, *_impossible(data, right, before, check, together=not wrong)]


_Entry = tuple[Key, Key, Sequence[object]]  # where it is in [vary], the key that varies, and its values


def _entries(data: Mapping[str, Any]) -> Iterator[_Entry]:
    """Yield the entries: `"lock.ttl" = [...]` and `lock.ttl = [...]` are the same."""
    waiting: list[tuple[Key, object]] = [((), data.get(VARY, {}))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*place, name), inner) for name, inner in reversed(value.items())]
        else:
            yield place, key_of(".".join(map(str, place))), value  # type: ignore[misc] # a list, once checked


def _wrong(key: Key, values: object) -> str | None:
    if key[0] in _FIXED:
        return f"cannot vary: {key[0]} is the same in all runs of a target"
    if any(names_a_password(str(part)) for part in key):
        return "cannot vary: it is a password"
    if len(key) > MAX_DEPTH:
        return f"has more than {MAX_DEPTH} parts"
    if not isinstance(values, list) or not values:
        return 'must be a list of values, such as ["2s", "3s"]'
    return None


def _impossible(
    data: Mapping[str, Any],
    entries: Sequence[_Entry],
    before: set[tuple[Key, str]],
    check: Callable[[Mapping[str, Any]], Sequence[Problem]],
    *,
    together: bool,
) -> Iterator[Problem]:
    """Yield the values that are wrong by themselves; without any, if `together`, the first combination."""
    wrong = not together
    for place, key, values in entries:
        for value in values:
            for why in _new(data, {key: value}, before, check):
                wrong = True
                yield Problem((VARY, *place), why, data)
    combinations = itertools.product(*(values for _, _, values in entries))
    keys = [key for _, key, _ in entries]
    if not wrong and len(entries) > 1:
        for combination in combinations:
            for why in _new(data, dict(zip(keys, combination, strict=True)), before, check):
                yield Problem((VARY,), why, data)
                return


def _new(
    data: Mapping[str, Any],
    drawn: _Combination,
    before: set[tuple[Key, str]],
    check: Callable[[Mapping[str, Any]], Sequence[Problem]],
) -> Iterator[str]:
    changed = varied(data, drawn)
    if changed is None:
        yield "the target has no such key"
        return
    settings = ", ".join(f"{as_dotted(key)} = {literal(value)}" for key, value in drawn.items())
    for problem in check(changed):
        if (problem.key, problem.what) not in before:
            yield str(problem) if [*drawn] == [problem.key] else f"with {settings}: {problem}"
