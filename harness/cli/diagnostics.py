"""Checks of this machine: what a run needs, and how to get what is missing."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.core.errors import EngineUnavailableError, FencepostError
from harness.core.exhaustion import descriptors_for
from harness.engines import local_toxiproxy, local_zookeeper
from harness.engines.docker import unavailability
from harness.engines.docker_api import compose_version, engine_host
from harness.engines.local_systems import SOURCES
from harness.engines.server_programs import INSTALL, ON_SOME_MACHINES, find, repaired_in
from harness.network.ports import free_addresses
from harness.processes.ownership import Life, life_of
from harness.processes.run_notes import read_notes
from harness.report.sentences import count

PYTHONS = ((3, 11), (3, 14))
PORTS = 100  # the edges between 20 clients and 5 servers
CPUS = 2
RESOLUTION = 1e-6  # s; of the clock
STOP_TIMEOUT = 1.0  # s
DOCKER = "docker engine"
LOCAL = "local engine"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check."""

    name: str
    seen: str
    remedy: str = ""  # what to do about it; "": nothing is wrong

    @property
    def ok(self) -> bool:
        """Is it as a run needs it?"""
        return not self.remedy


Look = tuple[str, str]  # what was seen, and the remedy if something is wrong


def examine(runs: Path = Path("runs")) -> list[Diagnosis]:
    """Run every check; a check that crashes is a finding that is not ok."""
    looks: dict[str, Callable[[], Look]] = {
        "python": _python,
        DOCKER: _docker,
        LOCAL: _local,
        local_toxiproxy.PROGRAM: _toxiproxy,
        "ports": _ports,
        "file descriptors": _descriptors,
        "processors": _processors,
        "runs folder": lambda: _runs_folder(runs),
        "pausing": _pausing,
        "clock": _clock,
        "leftovers": _leftovers,
    }
    return [Diagnosis(name, *_look(look)) for name, look in looks.items()]


def can_run(findings: list[Diagnosis]) -> bool:
    """Is there an engine, and everything else that every run needs?"""
    bad = {finding.name for finding in findings if not finding.ok}
    return not {DOCKER, LOCAL} <= bad and bad.isdisjoint(
        {"python", "ports", "runs folder", "pausing", "clock"}
    )


def _look(look: Callable[[], Look]) -> Look:
    try:
        return look()
    except (FencepostError, OSError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__}: {error}", "fix that, and run doctor again"


def _python() -> Look:
    oldest, newest = PYTHONS
    fits = oldest <= sys.version_info[:2] <= newest
    return sys.version.split()[0], "" if fits else "use Python 3.11 to 3.14: make PYTHON=python3.12"


def _docker() -> Look:
    if why_not := unavailability():
        return why_not, "not needed if the local engine suffices"
    return f"answers at {engine_host()}, with compose {compose_version()}", ""


def _local() -> Look:
    seen, missing = [], []
    for system, source in SOURCES.items():
        try:
            program = find(source)
        except EngineUnavailableError as error:
            if source.package in ON_SOME_MACHINES:
                seen.append(f"no {system} (put {source.program} on PATH)")
            else:
                missing.append(str(error))
        else:
            kills = ", never killed: it may lose data" if repaired_in(source, program) else ""
            seen.append(f"{system} {program}{kills}")
    if missing:
        return missing[0], INSTALL
    try:
        local_zookeeper.check(killed=False)
        seen.append("zookeeper")
    except EngineUnavailableError:
        seen.append("no zookeeper")
    return "; ".join(seen), ""


def _toxiproxy() -> Look:
    program = local_toxiproxy.find()
    if program is not None:
        return str(program), ""
    if local_toxiproxy.refusal() is None:
        return "not installed yet: the first run on the local engine that needs it installs it", ""
    seen = "neither on PATH nor in the cache folder: the local engine cannot cut clients off"
    return seen, local_toxiproxy.GET_IT


def _ports() -> Look:
    try:
        free_addresses(PORTS)
    except OSError as error:
        seen = f"{PORTS} free ports on 127.0.0.1 are not available: {error}"
        return seen, "raise ulimit -n, or widen ip_local_port_range"
    return f"{PORTS} are free on 127.0.0.1", ""


def _descriptors() -> Look:
    needed = descriptors_for(PORTS)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit == resource.RLIM_INFINITY:
        return "unlimited", ""
    if limit >= needed:
        return f"up to {limit}", ""
    return f"up to {limit}, but a large run needs {needed}", "ulimit -n 4096"


def _processors() -> Look:
    count = len(os.sched_getaffinity(0))
    remedy = "servers and clients will wait for each other: --set workload.clients=3"
    return str(count), "" if count >= CPUS else remedy


def _runs_folder(runs: Path) -> Look:
    existing = next(path for path in (runs.absolute(), *runs.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return f"{runs.absolute()} can be written", ""
    except OSError as error:
        return f"{existing}: {error.strerror}", "name another: --runs FOLDER"


def _pausing() -> Look:
    """Stop a process and observe it stopped, as a pause of a client does."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            process = psutil.Process(child.pid)
            child.send_signal(signal.SIGSTOP)
            deadline = time.monotonic() + STOP_TIMEOUT
            while process.status() != psutil.STATUS_STOPPED and time.monotonic() < deadline:
                time.sleep(0.001)
            status = process.status()
        finally:
            child.kill()
    if status == psutil.STATUS_STOPPED:
        return "SIGSTOP stops a process", ""
    return f"a process is {status} after SIGSTOP", "a sandbox may forbid it: run outside the sandbox"


def _clock() -> Look:
    clock = time.get_clock_info("monotonic")
    seen = f"{clock.implementation}, resolution {clock.resolution * 1e9:.0f} ns"
    fits = "CLOCK_MONOTONIC" in clock.implementation and clock.resolution <= RESOLUTION
    return seen, "" if fits else "histories need Linux's CLOCK_MONOTONIC"


def _leftovers() -> Look:
    notes = read_notes()
    lives = [life_of(note.marks) for note in notes.read]
    dead, alive = lives.count(Life.DEAD), lives.count(Life.ALIVE)
    if notes.refused:
        return f"invalid notes of earlier runs: {'; '.join(notes.refused)}", "inspect and remove them"
    if dead:
        killed = "1 run that was killed" if dead == 1 else f"{dead} runs that were killed"
        return f"there are some, of {killed}", "fencepost clean"
    return f"none{_in_progress(alive)}", ""


def _in_progress(alive: int) -> str:
    return f"; {count(alive, 'run')} in progress" if alive else ""
