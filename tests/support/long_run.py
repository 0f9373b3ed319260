"""The folder of a healthy run with very many operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


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
        "reasons": ["not exercised: x"],
    }
    verdict |= {"anomalies": {}, "findings": [], "coverage": {}, "checkers": []}
    (folder / "verdict.json").write_text(json.dumps(verdict))
    return folder
