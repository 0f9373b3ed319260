"""Run folders to look at, from a simulation; the verdict was counted while simulating."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checkers.vocabulary.reasons import Reason, ReasonKind
from checkers.vocabulary.verdict import reasons_of
from tests.support.simulated_run import BEGAN, Simulation

_NOTHING_TRIED = "no stale write was attempted", "run longer, or with faults"


def write_sample(folder: Path, *, fenced: bool = False, **options: Any) -> Path:
    """Simulate a run and write its folder, all but the report. Returns the folder."""
    simulation = Simulation(fenced=fenced, **options).run()
    name = "etcd-postgres" if fenced else "etcd-postgres-unfenced"
    folder.mkdir(parents=True, exist_ok=True)
    header = {
        "fencepost": 1,
        "target": name,
        "seed": simulation.seed,
        "fenced": fenced,
        "policy": "strict" if fenced else "inclusive",
        "ttl": simulation.ttl,
        "initial": {"value": None, "token": 0},
        "clients": simulation.clients,
    }
    events = [event for _, _, event in simulation.events]
    _write_lines(folder / "history.jsonl", [header, *events])
    commits = [{"seq": seq, **commit} for seq, commit in enumerate(simulation.commits, 1)]
    _write_lines(folder / "commits.jsonl", commits)
    _write_document(folder / "verdict.json", _verdict(simulation, events))
    _write_document(folder / "plan.json", _plan(simulation))
    _write_document(folder / "environment.json", _environment(name, simulation.seed))
    (folder / "target.toml").write_text(TARGET.format(name=name, expect=_expect(fenced=fenced)))
    return folder


def _write_lines(path: Path, documents: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))


def _write_document(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2))


def _expect(*, fenced: bool) -> str:
    return '"valid"' if fenced else '["stale-write"]'


def _verdict(simulation: Simulation, events: list[dict[str, Any]]) -> dict[str, Any]:
    line = {id(event): number for number, event in enumerate(events, 2)}
    ends = {
        (e["value"], e["f"]): n
        for n, e in enumerate(events, 2)
        if e["type"] != "invoke" and e.get("f") == "write"
    }
    found = [_finding(newer, stale, line, ends) for newer, stale in simulation.findings]
    counted = simulation.counted
    names = ("stale_writes_attempted", "stale_writes_rejected", "stale_writes_accepted")
    coverage = {name: counted[name] for name in ("grants", *names, "late_writes_attempted")}
    coverage |= {name: counted[name] for name in ("pauses", "partitions", "kills", "pauses_past_lease")}
    exercised = coverage["stale_writes_attempted"] > 0
    word = "invalid" if found else "valid" if exercised else "unknown"
    expected: Any = "valid" if simulation.fenced else ["stale-write"]
    return {
        "schema": 1,
        "verdict": word,
        "expected": expected,
        "as_expected": word == ("valid" if simulation.fenced else "invalid"),
        **reasons_of([] if exercised else [Reason(ReasonKind.NOT_EXERCISED, *_NOTHING_TRIED)]),
        "anomalies": {"stale-write": len(found), "late-write": 0, "duplicate-token": 0, "early-grant": 0},
        "findings": found,
        "coverage": coverage,
        "checkers": [
            {"name": "stale-write", "verdict": word, "evidence": "committed", "seconds": 0.012},
            {"name": "duplicate-token", "verdict": "valid", "evidence": "observed", "seconds": 0.004},
        ],
    }


def _finding(
    newer: dict[str, Any], stale: dict[str, Any], line: dict[int, int], ends: dict[Any, int]
) -> dict[str, Any]:
    late, early = (f"client {event['process'] % 5}" for event in (stale, newer))
    where = stale["resource"]
    first, last = ([line[id(event)], ends[event["value"], "write"]] for event in (newer, stale))
    return {
        "anomaly": "stale-write",
        "resource": where,
        "summary": (
            f"{where}: the storage accepted a write with token {stale['token']} from {late} after it "
            f"had accepted one with token {newer['token']} from {early}."
        ),
        "operations": [*first, *last],
        "names": ["stale-write"],
        "step_lines": [first, last, [*first, *last], [*first, *last]],
        "step_faults": [[], [], [], []],
        "accused": last,
        "against": first,
        "steps": [
            f"{early} wrote {newer['value']} with token {newer['token']}, and it was accepted (line {line[id(newer)]}).",
            f"{late} wrote {stale['value']} with token {stale['token']}, and so was that (line {line[id(stale)]}).",
            f"In the storage's own order, token {stale['token']} stands after token {newer['token']}.",
            f"{stale['token']} < {newer['token']}: the older holder overwrote the newer one. A fence must not allow that.",
        ],
    }


def _plan(simulation: Simulation) -> dict[str, Any]:
    return {
        "seed": simulation.seed,
        "started": BEGAN,
        "duration": simulation.duration,
        "faults": simulation.faults,
    }


def _environment(name: str, seed: int) -> dict[str, Any]:
    etcd = {"system": "etcd", "version": "3.5.16"}
    image = {"name": "fencepost/etcd:4f1c2ab09d3e", "id": "sha256:" + 5 * "90ab77ce1204", "digests": []}
    return {
        "engine": "docker",
        "docker": "28.0.1",
        "compose": "2.40.3",
        "servers": {
            **dict.fromkeys(("etcd-1", "etcd-2", "etcd-3"), etcd),
            "postgres": {"system": "postgres", "version": "17.6"},
        },
        "images": dict.fromkeys(("etcd-1", "etcd-2", "etcd-3", "postgres", "toxiproxy"), image),
        "toxiproxy": "2.12.0",
        "fencepost": "0.1.0",
        "git_commit": "61bfca3",
        "python": "3.11.2",
        "kernel": "Linux 6.1.0-37-amd64",
        "cpus": 2,
        "command": ["fencepost", "run", name, "--seed", str(seed)],
    }


TARGET = """\
#:schema ./schema.json
name = "{name}"
expect = {expect}

[lock]
kind = "etcd"
nodes = 3
ttl = "2s"

[storage]
kind = "postgres"
fencing = "none"

[workload]
kind = "register"
clients = 5
resources = 2
duration = "20s"

[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"
"""
