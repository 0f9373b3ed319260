"""A run of a stranger: its history, plan, environment and target, and a verdict on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fuzzing.hostile.words import MS, STARTED, Document, Words, in_toml, write, write_lines


def run(words: Words, folder: Path, name: str = "t") -> None:
    """Write a run whose late write the storage accepted, with all that the folder of a run may have."""
    history, commits = recording(words, name)
    write_lines(folder / "history.jsonl", history)
    write_lines(folder / "commits.jsonl", commits)
    write(folder / "plan.json", json.dumps(_plan(words)))
    write(folder / "environment.json", json.dumps(_environment(words)))
    write(folder / "target.toml", _target(words))


def runs(words: Words, folder: Path) -> None:
    """Write the folder of all runs, with a run and the link to the latest."""
    judged(words, folder / "t" / "1")
    (folder / "t" / "latest").symlink_to("1")


def judged(words: Words, folder: Path, name: str = "t") -> None:
    """Write a run together with a verdict that somebody else wrote."""
    run(words, folder, name)
    write(folder / "verdict.json", json.dumps(verdict(words)))


def recording(words: Words, name: str = "t") -> tuple[list[Document], list[Document]]:
    """Return the lines of a history, and those of the storage's own order."""
    resource, owner = words("resource", "r0"), words("owner", "a")
    old, new = words("value", "old"), words("newer value", "new")
    error, job = words("error", "not the holder"), words("job", "job")
    pause = {
        "target": words("fault's client", "client:0"),
        "owner": owner,
        "resource": resource,
        "at": words("stop point", "before-write"),
    }
    link = words("fault's server", "storage")

    def on(time: int, process: int, outcome: str, f: str, **more: Any) -> Document:
        return {
            "time": time * MS,
            "process": process,
            "type": outcome,
            "f": f,
            "resource": resource,
        } | more

    def hit(time: int, f: str, state: str, evidence: str, **more: Any) -> Document:
        value = {"state": state, "evidence": evidence} | more
        return {"time": time * MS, "process": "nemesis", "type": "info", "f": f, "value": value}

    header = {
        "fencepost": 1,
        "target": words("target", name),
        "seed": 7,
        "fenced": False,
        "policy": "inclusive",
        "ttl": 100 * MS,
        "clients": 2,
        "expect": [words("expected", "stale-write"), "token-regression"],
        "may": [words("allowed", "late-write")],
        "initial": {"value": words("initial value", "first"), "token": 0},
        "require": {words("required", "stale_writes_attempted"): 0},
        "faults": {
            "melt": {
                "lasting": words("lasting", "was molten")[:60],
                "now": words("now", "is molten")[:60],
                "afterwards": words("afterwards", "is hard again")[:60],
                "short": words("short", "molten")[:60],
            }
        },
    }
    events = [
        on(10, 0, "invoke", "acquire", owner=owner),
        on(11, 0, "ok", "acquire", owner=owner, token=1, ttl=100 * MS, attempt=10 * MS),
        on(20, 2, "invoke", "renew", owner=owner),
        on(22, 2, "info", "renew", owner=owner, error=error),
        hit(30, "pause", "in force", words("evidence", "status is stopped"), **pause),
        hit(31, "melt", "in force", words("evidence of a server", "seen"), target=link),
        on(40, 1, "invoke", "acquire", owner=f"{owner}2"),
        on(130, 1, "ok", "acquire", owner=f"{owner}2", token=2, ttl=100 * MS, attempt=125 * MS),
        on(140, 1, "invoke", "write", token=2, value=new),
        on(150, 1, "ok", "write", token=2, value=new),
        hit(158, "melt", "healed", "gone", target=link),
        hit(160, "pause", "healed", words("healed evidence", "running"), **pause),
        on(170, 0, "invoke", "write", token=1, value=old),
        on(180, 0, "ok", "write", token=1, value=old),
        on(185, 1, "invoke", "read"),
        on(189, 1, "ok", "read", token=1, value=old),
        on(190, 0, "invoke", "release", owner=owner),
        on(191, 4, "invoke", "execute", owner=owner, job=job),
        on(192, 5, "invoke", "execute", owner=f"{owner}2", job=job),
        on(193, 4, "ok", "execute", owner=owner, job=job, ended=193 * MS),
        on(195, 0, "fail", "release", owner=owner, error=error),
        on(196, 3, "invoke", "write", token=3, value=words("unwritten value", "z")),
        on(197, 3, "fail", "write", token=3, value=words("unwritten value", "z"), error=error),
    ]
    stored = words("resource in the log", resource)
    commits = [
        {"seq": 1, "resource": stored, "token": 2, "value": new},
        {"seq": 2, "resource": stored, "token": 1, "value": words("value in the log", old)},
    ]
    return [header, *events], commits


def _plan(words: Words) -> Document:
    return {
        "seed": 7,
        "started": 0,
        "duration": 200 * MS,
        "ended": 200 * MS,
        "planned": [{"kind": words("planned", "pause"), "target": "holder", "at": None, "moments": []}],
        "faults": [
            {
                "kind": words("fault in the plan", "pause"),
                "target": words("target in the plan", "client:0"),
                "resource": words("resource in the plan", "r0"),
                "at": words("stop point in the plan", "before-write"),
                "in_force": 30 * MS,
                "healed": 160 * MS,
                "evidence": words("evidence in the plan", "status is stopped"),
                "healed_evidence": words("healed evidence in the plan", "running"),
            }
        ],
        "windows": [
            {"fault": words("window", "pause holder"), "hit": 1, "missed": {words("missed", "too late"): 2}}
        ],
    }


def _environment(words: Words) -> Document:
    return {
        "engine": words("engine", "docker"),
        "began": words("began", STARTED),
        "fencepost": words("version", "0.1.0"),
        "git_commit": words("commit", "61bfca3"),
        "python": words("Python's version", "3.11.2"),
        "kernel": words("kernel", "Linux 6.1.0"),
        "cpus": 2,
        "command": ["fencepost", "run", words("command", "t")],
        "again": ["--engine", words("option", "docker"), words("further option", "--no-faults")],
        "folder": words("folder", "/srv"),
        "pythonpath": words("Python's path", "/srv/lib"),
        "servers": {
            words("server", "etcd-1"): {"system": "etcd", "version": words("server's version", "3.5")}
        },
        "images": {
            "etcd-1": {"name": words("image", "fencepost/etcd"), "digests": [words("digest", "sha256:0")]}
        },
        "program": {"versions": {words("program", "p"): words("program's version", "1")}},
        words("unknown fact", "proxy"): words("value of an unknown fact", "none"),
    }


def _target(words: Words) -> str:
    """A valid target, whose program is found in the folder of the run."""
    return (
        f"# changed with --set: lock.ttl = {in_toml(words('changed setting', '2s'))}\n"
        f"# {words('story', 'A story.')}\n"
        f"name = {in_toml(words('name in the target', 't'))}\n"
        'expect = ["stale-write"]\n\n'
        f'[client]\ncommand = ["./own", {in_toml(words("argument of the program", "x"))}]\n\n'
        '[lock]\nkind = "etcd"\nnodes = 1\nttl = "2s"\n\n'
        '[storage]\nkind = "etcd"\nfencing = "none"\n\n'
        '[workload]\nkind = "register"\nclients = 2\nresources = 1\nduration = "20s"\n\n'
        '[[faults]]\nkind = "pause"\ntarget = "holder"\nat = "before-write"\nuntil = "superseded"\n'
    )


def _finding(words: Words) -> Document:
    return {
        "anomaly": words("anomaly", "stale-write"),
        "rule": words("rule", "after-newer"),
        "resource": words("resource of a finding", "r0"),
        "summary": words("summary", "r0: a stale write was accepted"),
        "operations": [9, 10, 13, 14],
        "accused": [13, 14],
        "against": [9, 10],
        "roles": [words("role", "write"), "newer write"],
        "fault": words("fault of a finding", "pause"),
        "faults": [words("fault of a finding", "pause")],
        "also": [words("other anomaly", "late-write")],
        "steps": [words("step", "one (line 9)"), words("last step", "so the other")],
        "caused_by": {
            "anomaly": words("causing anomaly", "early-grant"),
            "summary": words("causing summary", "granted early"),
            "operations": [2],
        },
    }


def verdict(words: Words) -> Document:
    """Return a verdict that somebody wrote, with two findings."""
    anomaly = words("anomaly", "stale-write")
    return {
        "schema": 1,
        "target": words("target in the verdict", "t"),
        "history": words("history's path", "history.jsonl"),
        "verdict": "invalid",
        "expected": [words("expectation", "stale-write")],
        "as_expected": False,
        "reasons": [words("reason", "found stale-write, which was not expected")],
        "anomalies": {anomaly: 1, words("counted anomaly", "late-write"): 2},
        "findings": [_finding(words), _finding(words)],
        "coverage": {"stale_writes_attempted": 1, words("count", "stale_writes_accepted"): 1},
        "hazards": {
            "hit": {words("hazard", "write-sent/superseded"): 1},
            "missed": [words("missed hazard", "grant-sent/expired")],
            "possible": 2,
        },
        "windows": [
            {
                "fault": words("window of the verdict", "pause"),
                "hit": 1,
                "missed": {words("missed there", "late"): 2},
            }
        ],
        "checkers": [
            {
                "name": words("checker", "stale-write"),
                "verdict": "invalid",
                "evidence": "committed",
                "seconds": 0.1,
            }
        ],
        "notices": [words("notice", "a note")],
    }
