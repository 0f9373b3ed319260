"""Run folders for reports: a paused client whose late write the storage accepts, or refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from checkers.history import reader
from checkers.history.records import History, Op, Outcome
from harness.report.lanes import lanes
from harness.report.recorded_run import load
from harness.report.scenes import Stage
from harness.report.timeline import Timeline, timeline

HEADER = '{"fencepost":1,"target":"t","fenced":false,"policy":"inclusive","ttl":100,"clients":2}'
STALE = f"""\
{HEADER}
{{"time":1000,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"a"}}
{{"time":1010,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"a","token":1,"ttl":100,"attempt":1002}}
{{"time":1020,"process":2,"type":"invoke","f":"renew","resource":"r0","owner":"a"}}
{{"time":1022,"process":2,"type":"ok","f":"renew","resource":"r0","owner":"a","ttl":100}}
{{"time":1030,"process":"nemesis","type":"info","f":"pause","value":{{"target":"client:0","state":"in force","evidence":"T","owner":"a","resource":"r0"}}}}
{{"time":1040,"process":1,"type":"invoke","f":"acquire","resource":"r0","owner":"b"}}
{{"time":1130,"process":1,"type":"ok","f":"acquire","resource":"r0","owner":"b","token":2,"ttl":100,"attempt":1125}}
{{"time":1140,"process":1,"type":"invoke","f":"write","resource":"r0","token":2,"value":"new"}}
{{"time":1150,"process":1,"type":"ok","f":"write","resource":"r0","token":2,"value":"new"}}
{{"time":1160,"process":"nemesis","type":"info","f":"pause","value":{{"target":"client:0","state":"healed","evidence":"S"}}}}
{{"time":1170,"process":0,"type":"invoke","f":"write","resource":"r0","token":1,"value":"old"}}
{{"time":1180,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"old"}}
{{"time":1190,"process":0,"type":"invoke","f":"release","resource":"r0","owner":"a"}}
{{"time":1195,"process":0,"type":"fail","f":"release","resource":"r0","owner":"a","error":"not the holder"}}
"""
REFUSED = STALE.replace(
    '{"time":1180,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"old"}',
    '{"time":1180,"process":0,"type":"fail","f":"write","resource":"r0","token":1,"value":"old","error":"stale"}',
)
FINDING = {
    "anomaly": "stale-write",
    "resource": "r0",
    "summary": "!",
    "operations": [12, 13, 9, 10],
    "steps": ["1"],
    "step_lines": [[12, 13]],
    "step_faults": [[]],
    "accused": [12, 13],
    "against": [9, 10],
    "names": ["stale-write"],
    "cause": {"certain": True, "fault": "pause", "target": "client:0", "faults": [6, 11]},
}
VERDICT = {
    "schema": 1,
    "verdict": "invalid",
    "expected": "valid",
    "as_expected": False,
    "reasons": [],
    "anomalies": {"stale-write": 1},
    "findings": [FINDING],
    "coverage": {"stale_writes_attempted": 1, "stale_writes_accepted": 1},
    "checkers": [],
}


def recorded(text: str) -> History:
    return reader.parse(text.splitlines(keepends=True))


def run_folder(folder: Path, text: str = STALE, **verdict: object) -> Path:
    (folder / "history.jsonl").write_text(text)
    (folder / "verdict.json").write_text(json.dumps(VERDICT | verdict))
    return folder


def laid_out(folder: Path, text: str = STALE) -> Timeline:
    run = load(run_folder(folder, text))
    assert run.history is not None
    found = timeline(run, lanes(run.history))
    assert found is not None
    return found


def stage(run: Timeline, run_of: History | None = None) -> Stage:
    history = recorded(STALE) if run_of is None else run_of
    return Stage(run, lanes(history), history)


def text_of(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.read_text()))


def operation(index: int, **fields: object) -> Op:
    defaults = {"process": 0, "f": "write", "resource": "r0", "outcome": Outcome.OK}
    return Op(index=index, **{**defaults, **fields})


def long_run(folder: Path, operations: int, f: str = "write") -> Path:
    """A healthy run of many writes or reads by ten clients, with no fault in it."""
    header = {"fencepost": 1, "target": "long", "fenced": True, "policy": "inclusive", "clients": 10}
    lines: list[dict[str, Any]] = [header]
    for number in range(operations):
        call: dict[str, Any] = {
            "time": number * 20_000 + 1,
            "process": number % 10,
            "f": f,
            "resource": "r0",
            "token": 1,
        }
        call["value"] = f"v{number}" if f == "write" else "v0"
        lines.append(call | {"type": "invoke"})
        lines.append(call | {"type": "ok", "time": call["time"] + 150_000})
    lines[1:] = sorted(lines[1:], key=lambda line: line["time"])
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict = {
        "verdict": "unknown",
        "expected": "valid",
        "as_expected": False,
        "reasons": ["not tested: x"],
    }
    verdict |= {"anomalies": {}, "findings": [], "coverage": {}, "checkers": []}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    return folder
