"""Changes to recorded lines, and the refusal of a history."""

from __future__ import annotations

import json

import pytest

from checkers.history.reader import parse
from checkers.text.errors import HistoryError


def changed(line: str, **fields: object) -> str:
    return json.dumps(json.loads(line) | fields)


def without(line: str, name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != name})


def refusal(*lines: str | bytes) -> HistoryError:
    with pytest.raises(HistoryError) as refused:
        parse(lines, name="h.jsonl")
    return refused.value
