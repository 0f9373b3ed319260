"""Histories that were made so that thousands of their values have the same hash."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers import formats
from checkers.formats.collisions import MOST, without_collisions
from checkers.text.errors import HistoryError

MODULUS = 2**61 - 1
"""Python's hash of a whole number is its remainder."""
_64_BITS = 2**64
_PRIME_1, _PRIME_2, _PRIME_5 = 11400714785074694791, 14029467366897019727, 2870177450012600261
_HASH = 7


def pairs() -> Iterator[tuple[int, int]]:
    """Pairs of numbers with the same hash: Python's hash of a tuple (xxHash), solved for the second."""
    mixed = _HASH * pow(_PRIME_1, -1, _64_BITS) % _64_BITS
    mixed = (mixed >> 31 | mixed << 33) % _64_BITS
    for first in itertools.count(1):
        begun = (_PRIME_5 + first * _PRIME_2) % _64_BITS
        begun = (begun << 31 | begun >> 33) * _PRIME_1 % _64_BITS
        second = (mixed - begun) * pow(_PRIME_2, -1, _64_BITS) % _64_BITS
        second -= _64_BITS * (second >= _64_BITS // 2)
        if abs(second) < MODULUS and second != -1:
            yield first, second


SAME = tuple(itertools.islice(pairs(), MOST + 1))
NUMBERS = " ".join(str(MODULUS * number) for number in range(1, MOST + 2))
LIST = json.dumps(SAME)
INVOKE = '{"process": 0, "type": "invoke", "f": "read", "value": null}\n'


def written(values: list[str]) -> str:
    """A history that writes these."""
    event = "{{:process 0, :type :{}, :f :write, :value {}}}\n"
    return "".join(event.format(kind, value) for value in values for kind in ("invoke", "ok"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{{:process 0, :type :invoke, :f :write, :value #{{{NUMBERS}}}}}\n", 1),
        (f"{{:process 0, :type :invoke, :f :write, :value {{{NUMBERS} {NUMBERS}}}}}\n", 1),
        (f'{INVOKE}{{"process": 0, "type": "ok", "f": "read", "value": {LIST}}}\n', 2),
        (written([f"[[{first} {second}]]" for first, second in SAME]), 1),
        (written([f"[[{first} {second}] 1]" for first, second in SAME]), 1),
    ],
)
def test_many_different_values_with_one_hash_are_refused(tmp_path: Path, text: str, line: int) -> None:
    history = tmp_path / "history"
    history.write_text(text)

    with pytest.raises(HistoryError, match="different values with the same hash, which no tool") as refusal:
        formats.read(history)

    assert refusal.value.line == line


@pytest.mark.parametrize("values", [SAME[:-1], SAME[:1] * 1000, (*range(-1000, 1000),)])
def test_values_that_a_tool_writes_are_taken(values: tuple[object, ...]) -> None:
    assert without_collisions(values) is values
