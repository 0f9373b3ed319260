"""What campaigns leave: a shard from another machine, the results of all nights, a corpus."""

from __future__ import annotations

import json
import lzma
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from fuzzing.hostile.runs import judged, recording, verdict
from fuzzing.hostile.words import MS, STARTED, Document, Words, as_name, in_toml, write, write_lines

_NO_VERDICT = 3  # the exit code of a run whose infrastructure failed


def shard(words: Words, folder: Path) -> None:
    """Write a night with a failed run, an undecided one without a history, and a broken one."""
    cells = ["broken", "failed", "undecided"]
    plan = {
        "schema": 1,
        "campaign": words("campaign", "nightly"),
        "started": words("start of the night", STARTED),
        "engine": words("engine of the night", "docker"),
        "fencepost": words("version of the night", "0.1.0"),
        "git_commit": words("commit of the night", "61bfca3"),
        "tested_commit": words("tested commit of the night", "c01dbee"),
        "file": words("campaign file", "/srv/nightly.toml"),
        "shard": words("shard", "1/2"),
        "canary": words("canary", ""),
        "cells": [_cell(words, words("cell", name) if name == "failed" else name) for name in cells],
        "jobs": [_job(words("cell", name) if name == "failed" else name) for name in cells],
    }
    write(folder / "plan.json", json.dumps(plan))
    write_lines(
        folder / "results.jsonl",
        [
            _ended(words, "broken", _NO_VERDICT)
            | {"message": words("message", _FAILURE), "error": words("error", "no engine")},
            _ended(words, words("cell", "failed"), 1) | _with_folder(words, folder),
            _ended(words, "undecided", 2) | {"verdict": _undecided(words)},
        ],
    )
    write(folder / "campaign.toml", _campaign(words))
    log = folder / "logs" / f"{as_name(words('log file', 'broken-1'))}.log"
    write(log, words("log of a run", "no engine"))


def _cell(words: Words, name: str) -> Document:
    return {
        "name": name,
        "lock": words("lock", "etcd"),
        "storage": words("storage", "postgres:none"),
        "faults": words("faults", "pause"),
        "duration": 1000 * MS,
        "source": f"# {words('target source', 'x')}\nname = 'x'\n",
        "file": words("target file", "") if name == "failed" else "",
        "servers": words("shared servers", ""),
    }


def _job(name: str) -> Document:
    return {"cell": name, "repeat": 1, "seed": 7, "expected": 1000 * MS}


_FAILURE = "broken: infrastructure failure: no engine"


def _ended(words: Words, cell: str, code: int) -> Document:
    return {
        "job": _job(cell),
        "exit_code": code,
        "started": words("start of a run", STARTED),
        "seconds": 25.0,
        "folder": None,
        "verdict": None,
        "message": "",
    }


def _with_folder(words: Words, night: Path) -> Document:
    made = f"runs/failed/{as_name(words('run folder', '20261122T030000-0a1b2c3d'))}"
    judged(words, night / made, "failed")
    write(night / made / "minimal.toml", "")
    write(night / made / "report.html", "")
    return {"folder": words("folder of a run", made), "verdict": verdict(words)}


def _undecided(words: Words) -> Document:
    reason = words("reason of an undecided run", "not tested")
    return verdict(Words()) | {"verdict": "unknown", "findings": [], "reasons": [reason]}


def _campaign(words: Words) -> str:
    return (
        f"# {words('comment in the campaign', 'x')}\n"
        f"name = {in_toml(words('name in the campaign', 'nightly'))}\n"
        '[[cells]]\ntargets = ["a"]\n'
        '[[quarantine]]\nfingerprint = "2-0123456789ac"\nuntil = 2100-01-01\n'
        f"reason = {in_toml(words('quarantine', 'known'))}\n"
        '[[quarantine]]\nfingerprint = "2-0123456789ab"\nuntil = 2001-01-01\n'
        f"reason = {in_toml(words('expired quarantine', 'old'))}\n"
    )


def results(words: Words, file: Path) -> None:
    """Write the results of an earlier night, with one stored history that is judged differently now."""
    from harness.campaign.results import Results

    Results(file)
    recorded, commits = recording(words)
    lines = "".join(f"{json.dumps(each)}\n" for each in recorded).encode()
    log = "".join(f"{json.dumps(each)}\n" for each in commits).encode()
    fingerprint = words("fingerprint", "2-0123456789ab")
    cell, began = words("cell of a row", "failed"), words("start of a row", "2026-11-21T03:00:00+00:00")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "INSERT INTO nights (campaign, folder, started, version, commit_id, shard) VALUES (?, ?, ?, ?, ?, '')",
            _stored(
                words("campaign of a row", "nightly"),
                words("folder of an earlier night", "/srv/nights/1"),
                words("start of an earlier night", "2026-11-21T03:00:00+00:00"),
                words("version of an earlier night", "0.1.0"),
                words("commit of an earlier night", "61bfca3"),
            ),
        )
        database.execute(
            "INSERT INTO runs (night, cell, repeat, reproduction, seed, started, seconds, outcome, verdict,"
            " fingerprint, folder, anomalies, history, commits) VALUES (1, ?, 1, 0, ?, ?, 25.0, ?, ?, ?, ?, ?, ?, ?)",
            (
                *_stored(
                    cell,
                    words("seed of a row", "7"),
                    began,
                    words("outcome of a row", "failed"),
                    words("verdict of a row", "valid"),
                    fingerprint,
                    words("folder of a row", "/srv/nights/1/runs/failed/1"),
                    json.dumps({words("anomaly of a row", "stale-write"): 3}),
                ),
                zlib.compress(lines),
                zlib.compress(log),
            ),
        )
        for number, line, kept in (
            (1, words("replay", f"fencepost run {_TARGET} --seed 7  # plan 0a1b2c3d4e5f"), None),
            (2, "", _replay(words)),
        ):
            database.execute(
                "INSERT INTO seeds (fingerprint, cell, seed, seconds, replay, target, first_seen, last_seen,"
                " failed, passed, words) VALUES (?, ?, ?, 25.0, ?, ?, ?, ?, 1, 0, ?)",
                (
                    *_stored(
                        fingerprint if number == 1 else "2-0123456789ac",
                        cell,
                        words("seed", "7"),
                        line,
                        words("target of a seed", 'name = "t"\n'),
                        words("first seen", "2026-11-21T03:00:00+00:00"),
                        words("last seen", "2026-11-21T03:00:00+00:00"),
                    ),
                    kept,
                ),
            )


_TARGET = "/srv/nights/1/runs/failed/1/target.toml"


def _replay(words: Words) -> str:
    return json.dumps(
        {
            "target": words("target of a replay", _TARGET),
            "seed": 7,
            "options": ["--engine", words("option of a replay", "docker")],
            "folder": words("folder of a replay", ""),
            "python_path": words("Python's path of a replay", ""),
            "plan": words("plan of a replay", "0a1b2c3d4e5f"),
            "fencepost": words("version of a replay", "0.1.0"),
            "commit": words("commit of a replay", "61bfca3"),
        }
    )


def _stored(*texts: str) -> tuple[str, ...]:
    """SQLite has no halves of surrogate pairs."""
    return tuple(text.encode(errors="replace").decode() for text in texts)


def corpus(words: Words, folder: Path) -> None:
    """Write a corpus with an entry whose verdict has changed, and one that cannot be read."""
    history, commits = recording(words)
    entry = folder / as_name(words("entry", "t-2-0123456789ab"))
    expected = {
        "schema": 1,
        "target": words("target of an entry", "t"),
        "seed": 7,
        "verdict": words("verdict of an entry", "valid"),
        "as_expected": True,
        "anomalies": {words("anomaly of an entry", "stale-write"): 3},
        "fingerprint": words("fingerprint of an entry", "2-0123456789ab"),
        "minimal": True,
        "plan": words("plan of an entry", "0a1b2c3d4e5f"),
        "fencepost": words("version of an entry", "0.1.0"),
        "git_commit": words("commit of an entry", "61bfca3"),
    }
    write(entry / "expected.json", json.dumps(expected))
    for name, lines in (("history", history), ("commits", commits)):
        text = "".join(f"{json.dumps(each)}\n" for each in lines)
        (entry / f"{name}.jsonl.xz").write_bytes(lzma.compress(text.encode()))
    broken = folder / as_name(words("broken entry", "u-2-0123456789ab"))
    write(broken / "expected.json", json.dumps(expected | {words("key of an entry", "seed"): []}))
