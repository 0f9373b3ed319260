"""Clocks of servers that a run moves, on Docker.

Each of these servers preloads a library, which reads from a file by how much its clock is shifted. The
files are on a volume; a container of their own has it too, so that they can be written at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.network.clock_shift import Shift
from harness.network.systems import SYSTEMS
from harness.network.topology import Topology

CLOCK = "clock"  # the service, its image, the volume, and the folder where that is
_FOLDER = f"/{CLOCK}"
_FOR_EVER = 2**63 - 1  # ns
_MILLIONTHS = 1e6


def clocks_of(topology: Topology) -> Mapping[str, Mapping[str, Any]]:
    """Return what the override file adds to services."""
    systems = {spec.name: SYSTEMS[spec.system] for spec in topology.servers}
    added: dict[str, dict[str, Any]] = {}
    for name in topology.clocks:
        environment = {"LD_PRELOAD": f"{_FOLDER}/clock.so", "FENCEPOST_CLOCK": f"{_FOLDER}/{name}"}
        clock = systems[name].clock
        if clock is not None and clock.is_monotonic:
            environment["FENCEPOST_CLOCK_MONOTONIC"] = "yes"
        if clock is not None and clock.in_vdso:
            environment["FENCEPOST_CLOCK_VDSO"] = "yes"
        added[name] = {"environment": environment, "volumes": [f"{CLOCK}:{_FOLDER}:ro"]}
    return added


def command_to_set(server: str, shift: Shift) -> list[str]:
    """Return the command that shifts a server's clock: atomically, because the file is read at any moment."""
    until = _FOR_EVER if shift.until is None else shift.until
    line = f"{shift.ahead} {round(shift.drift * _MILLIONTHS)} {shift.since} {until}"
    return ["sh", "-c", f'echo "$0" > {_FOLDER}/new && mv {_FOLDER}/new "{_FOLDER}/$1"', line, server]
