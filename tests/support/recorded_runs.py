"""Recorded runs for golden tests: each exhibit of the zoo and its twin, and runs of other kinds.

`tests/histories/zoo/NAME.tar.xz` holds what a report and `recheck` read of one short run on
real servers. Record some again, or all of them, with

    .venv/bin/python -m tests.support.recorded_runs [NAME...]

A run that does not end as it should is repeated, and then for longer.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Unpack = Callable[[str], Path]  # gives the folder of a recorded run; the fixture `recorded_run`
ROOT = Path(__file__).parents[2]
TARGETS = ROOT / "targets"
RECORDINGS = ROOT / "tests/histories/zoo"
ENDING = ".tar.xz"
FILES = ("header.json", "target.toml", "plan.json", "environment.json", "history.jsonl", "commits.jsonl")
DURATIONS = ("5s", "8s", "8s", None, None, None)  # of one try after another; None: as the target says
SHORTEST_SLOW = ("8s", "12s", None, None)  # where leases, or what strikes once a run, take their time
ENGINES = ("local", "docker")  # the first that can run it
WRONG_ENGINE = (3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A run to record."""

    name: str
    target: Path
    code: int = 0  # the exit code that it has to end with
    durations: tuple[str | None, ...] = DURATIONS
    options: tuple[str, ...] = ()
    interrupted_after: float | None = None  # seconds of work


def recordings() -> tuple[Recording, ...]:
    """Every run that is recorded."""
    return (*_zoo(), *_others())


def _zoo() -> Iterator[Recording]:
    for file in sorted((TARGETS / "zoo").glob("*.toml")):
        yield Recording(name=file.stem, target=file)


def _others() -> Iterator[Recording]:
    for name in ("etcd-postgres", "etcd-postgres-unfenced"):
        yield Recording(name=name, target=_shipped(name))
    for name in (
        "etcd-postgres-append",
        "etcd-postgres-append-fence-on-acquire",
        "etcd-postgres-kill",
        "etcd-postgres-partition",
        "redis-postgres-failover",
        "redlock-postgres-clock",
    ):
        yield Recording(name=name, target=_shipped(name), durations=SHORTEST_SLOW)
    passing = _shipped("etcd-postgres")
    yield Recording(
        name="not-exercised", target=passing, code=2, durations=("4s",) * 3, options=("--no-faults",)
    )
    yield Recording(
        name="interrupted", target=passing, code=130, durations=("20s",) * 3, interrupted_after=5.0
    )


def _shipped(name: str) -> Path:
    return TARGETS / f"{name}.toml"


def recorded() -> tuple[str, ...]:
    """The names of the runs that were recorded."""
    return tuple(sorted(file.name.removesuffix(ENDING) for file in RECORDINGS.glob(f"*{ENDING}")))


def unpack(name: str, folder: Path) -> Path:
    """Unpack a recorded run below `folder`, and return its own folder."""
    with tarfile.open(RECORDINGS / f"{name}{ENDING}") as archive:
        archive.extractall(folder, filter="data")
        return folder / Path(archive.getnames()[0]).parent


def pack(run: Path, archive: Path) -> None:
    """Keep the files that a report and `recheck` read, without details of the machine."""
    environment = run / "environment.json"
    scrubbed = _scrubbed(json.loads(environment.read_bytes()), run.parent.name)
    environment.write_text(json.dumps(scrubbed, indent=1))
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for name in FILES:
            if (run / name).exists():
                packed.add(run / name, f"{run.parent.name}/{run.name}/{name}", filter=_anonymous)


def _scrubbed(environment: dict[str, Any], target: str) -> dict[str, Any]:
    command = ["fencepost", "run", f"{target}.toml", *environment["again"]]
    anywhere = {key: value for key, value in environment.items() if key not in ("folder", "pythonpath")}
    programs = {name: Path(program).name for name, program in environment.get("programs", {}).items()}
    scrubbed = {"command": command, "git_commit": None, "kernel": "Linux", "cpus": None}
    return anywhere | scrubbed | ({"programs": programs} if programs else {})


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode, entry.mtime = 0o644, 0
    return entry


def record(recording: Recording) -> None:
    """Run a target until it ends as it should, and keep that run; SystemExit if it never does."""
    codes = []
    for duration in recording.durations:
        with tempfile.TemporaryDirectory() as runs:
            code = _run_on_some_engine(recording, duration, Path(runs))
            codes.append(code)
            if code == recording.code:
                pack(_newest(Path(runs)), RECORDINGS / f"{recording.name}{ENDING}")
                return
    raise SystemExit(f"{recording.name} ended with {codes}, not with {recording.code}")


def _run_on_some_engine(recording: Recording, duration: str | None, runs: Path) -> int:
    for engine in ENGINES:
        shutil.rmtree(runs)
        runs.mkdir()
        code = _run(recording, duration, engine, runs)
        if code not in WRONG_ENGINE:
            break
    return code


def _run(recording: Recording, duration: str | None, engine: str, runs: Path) -> int:
    command = [sys.executable, "-m", "harness.cli", "run", recording.target, "--runs", runs]
    command += ["--engine", engine, *recording.options]
    if duration is not None:
        command += ["--set", f"workload.duration={duration}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        if recording.interrupted_after is not None:
            _interrupt(process, runs, recording.interrupted_after)
        return process.wait()


def _interrupt(process: subprocess.Popen[bytes], runs: Path, after: float) -> None:
    """Send Ctrl-C once the clients have worked for this many seconds."""
    while process.poll() is None:
        for plan in runs.glob("*/*/plan.json"):
            if time.monotonic_ns() > json.loads(plan.read_bytes())["started"] + after * 10**9:
                process.send_signal(signal.SIGINT)
                return
        time.sleep(0.01)


def _newest(runs: Path) -> Path:
    (latest,) = runs.glob("*/latest")
    return latest.resolve()


def main(names: Iterable[str]) -> None:
    """Record the runs that are named, or all of them, one after another."""
    chosen = set(names)
    known = {each.name: each for each in recordings()}
    if unknown := chosen - known.keys():
        raise SystemExit(f"nothing is recorded as {', '.join(sorted(unknown))}")
    for name, recording in known.items():
        if not chosen or name in chosen:
            began = time.monotonic()
            record(recording)
            size = (RECORDINGS / f"{name}{ENDING}").stat().st_size
            sys.stdout.write(f"{name}: {size:,} bytes, {time.monotonic() - began:.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    main(parser.parse_args().names)
