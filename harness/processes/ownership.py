"""Ownership: which harness started a process or a container, and whether it is still alive.

Everything that a run starts carries three marks: containers, networks and volumes as labels,
processes as environment variables. They outlive a killed harness, so that a later command
can distinguish leftovers from the parts of a run in progress.
"""

from __future__ import annotations

import enum
import functools
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN = "fencepost"  # the run's id
HARNESS = "fencepost.harness"  # "<pid>:<start time>"
HOST = "fencepost.host"  # "<name>/<pid namespace>/<boot>"
VARIABLES = {RUN: "FENCEPOST_RUN", HARNESS: "FENCEPOST_HARNESS", HOST: "FENCEPOST_HOST"}


class Life(enum.Enum):
    """The state of the process that started something, as far as this process can see."""

    ALIVE = enum.auto()
    DEAD = enum.auto()
    ELSEWHERE = enum.auto()  # on another host or in another container: not visible from here


@dataclass(frozen=True, slots=True)
class Owner:
    """One process, on one host, in one boot."""

    pid: int
    started: int  # clock ticks since boot: a step of the wall clock does not change it
    host: str

    def marks(self, run_id: str) -> dict[str, str]:
        """Return the marks for everything that this process starts for a run."""
        return {RUN: run_id, HARNESS: f"{self.pid}:{self.started}", HOST: self.host}

    def life(self) -> Life:
        """Is this process still running? A zombie is not."""
        name, namespace, boot = _split_host(self.host)
        our_name, our_namespace, our_boot = _split_host(_this_host())
        if (name, namespace) != (our_name, our_namespace):
            return Life.ELSEWHERE
        if boot == our_boot and _start_ticks(self.pid) == self.started:
            return Life.ALIVE
        return Life.DEAD


def this_process() -> Owner:
    """Return this process as an owner."""
    started = _start_ticks(os.getpid())
    assert started is not None, "a running process is in /proc"  # noqa: S101
    return Owner(os.getpid(), started, _this_host())


def owner_of(marks: Mapping[str, str]) -> Owner | None:
    """Read the owner from marks; None if they are not ours, or invalid."""
    pid, _, started = marks.get(HARNESS, "").partition(":")
    if not (pid.isdecimal() and started.isdecimal() and HOST in marks):
        return None
    return Owner(int(pid), int(started), marks[HOST])


def life_of(marks: Mapping[str, str]) -> Life:
    """Is the owner of these marks still alive? ELSEWHERE if they do not name one."""
    found = owner_of(marks)
    return Life.ELSEWHERE if found is None else found.life()


def as_environment(marks: Mapping[str, str]) -> dict[str, str]:
    """Return the marks as environment variables."""
    return {VARIABLES[key]: value for key, value in marks.items()}


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Read the marks from the environment of a process, as far as it has them."""
    return {key: environment[variable] for key, variable in VARIABLES.items() if variable in environment}


@functools.cache
def _this_host() -> str:
    namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{socket.gethostname()}/{namespace}/{boot}"


def _split_host(host: str) -> tuple[str, str, str]:
    name, _, rest = host.partition("/")
    namespace, _, boot = rest.partition("/")
    return name, namespace, boot


def _start_ticks(pid: int) -> int | None:
    """Return when a process started, or None if it is gone or dead."""
    fields = stat_of(Path(f"/proc/{pid}"))
    return None if not fields or fields[0] in "ZX" else int(fields[19])


def stat_of(folder: Path) -> list[str]:
    """Return the fields of a process or thread from its state on (proc(5)); none if it is gone."""
    try:
        stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return stat.rpartition(")")[2].split()  # the name before it may contain spaces
