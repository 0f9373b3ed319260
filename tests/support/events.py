"""Literal lines of a history, changes to them, and the refusal of a history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from checkers.history.reader import parse
from checkers.history.records import History
from checkers.text.errors import HistoryError


def event(time: int, kind: str, process: int, resource: str, value: str | None = None) -> dict[str, object]:
    f = "read" if value is None else "write"
    response = {"token": 1, "value": value} if f == "write" or kind == "ok" else {}
    return {"time": time, "type": kind, "process": process, "f": f, "resource": resource} | response


def recorded(*events: Mapping[str, Any], **header: Any) -> History:
    """The history of these events, in the order of their times."""
    ordered = sorted(events, key=lambda event: event["time"])
    return parse(json.dumps(line) + "\n" for line in ({"fencepost": 1, "target": "t", **header}, *ordered))


def call(
    process: int, f: str, called: int, returned: int, answer: Mapping[str, Any] | None = None, **asked: Any
) -> list[dict[str, Any]]:
    """An operation on r0 that was asked for with these fields, and its answer: ok, or as that says."""
    event = {"process": process, "f": f, "resource": "r0", **asked}
    return [
        event | {"time": called, "type": "invoke"},
        event | {"time": returned, "type": "ok", **(answer or {})},
    ]


def struck(kind: str, target: str, began: int, healed: int | None, **hold: str) -> list[dict[str, Any]]:
    """A fault that was in force from one time to another, or for ever."""
    event = {"process": "nemesis", "type": "info", "f": kind}
    value = {"target": target, "evidence": "seen", **hold}
    return [
        event | {"time": time, "value": value | {"state": state}}
        for time, state in ((began, "in force"), (healed, "healed"))
        if time is not None
    ]


def history_file(path: Path, *events: dict[str, object]) -> Path:
    lines = [{"fencepost": 1, "target": "t"}, *events]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


HEADER = '{"fencepost":1,"target":"t","seed":7,"fenced":true,"policy":"strict"}'
ACQUIRE = '{"time":10,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"0-1"}'
ACQUIRED = (
    '{"time":20,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"0-1",'
    '"token":33,"ttl":2000,"attempt":15}'
)
WRITE = '{"time":30,"process":0,"type":"invoke","f":"write","resource":"r0","token":33,"value":"a"}'
WRITTEN = '{"time":40,"process":0,"type":"ok","f":"write","resource":"r0","token":33,"value":"a"}'
APPEND = '{"time":30,"process":0,"type":"invoke","f":"append","resource":"r0","token":33,"element":"e"}'
APPENDED = (
    '{"time":40,"process":0,"type":"ok","f":"append","resource":"r0","token":33,"element":"e",'
    '"read":["x"],"written":["x","e"]}'
)
READ = '{"time":50,"process":0,"type":"invoke","f":"read","resource":"r0"}'
WAS_READ = '{"time":60,"process":0,"type":"ok","f":"read","resource":"r0","token":33,"value":"a"}'
PAUSED = (
    '{"time":70,"process":"nemesis","type":"info","f":"pause",'
    '"value":{"target":"client:0","state":"in force","evidence":"T"}}'
)
GOOD = (HEADER, ACQUIRE, ACQUIRED, WRITE, WRITTEN, READ, WAS_READ, PAUSED)
BYTES = "\n".join(GOOD).encode() + b"\n"
HOSTILE = [b"null", b"-1", b"1e999", b"NaN", b"true", b'""', b"[]", b"{}", b'"ok"', b'"info"', b"\x00"]


def changed(line: str, **fields: object) -> str:
    return json.dumps(json.loads(line) | fields)


def without(line: str, name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != name})


def refusal(*lines: str | bytes) -> HistoryError:
    with pytest.raises(HistoryError) as refused:
        parse(lines, name="h.jsonl")
    return refused.value
