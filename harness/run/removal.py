"""Removes what a run left on servers that already ran, however the harness ends: `removal.py < BELONGINGS`.

A `cleanup_process`: it deletes everything under the run's names. A request that was on its way may still
arrive after that, so it looks until it finds nothing, twice.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import msgspec

from harness.core.errors import InfrastructureError
from harness.network.tls_relay import relay_for
from harness.network.topology import AttachedSpec
from harness.processes.cleanup_process import cleanup_process, order_when_due
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.run.refusals import as_error
from workloads import locks, settings, storages
from workloads.client import NotApplied, Unknown
from workloads.settings import LockSettings, StorageSettings

PATIENCE = 30.0  # seconds; a server may have to recover from a fault first
POLL = 0.2  # seconds
IN_A_ROW = 2  # looks that find nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """What a run may leave on the servers of one side."""

    servers: tuple[AttachedSpec, ...]
    settings: LockSettings | StorageSettings

    def __str__(self) -> str:
        return f"{self.settings.kind} at {', '.join(str(server.address) for server in self.servers)}"


def encoded(belongings: Sequence[Belongings]) -> bytes:
    """Write them with the name of the type of their settings: a kind may have one of its own."""
    return msgspec.json.encode(
        [(each.servers, type(each.settings).__name__, each.settings) for each in belongings]
    )


def decoded(content: bytes | str) -> list[Belongings]:
    """Read what `encoded` has written."""
    found = msgspec.json.decode(content, type=list[tuple[tuple[AttachedSpec, ...], str, msgspec.Raw]])
    return [
        Belongings(servers=servers, settings=msgspec.json.decode(raw, type=getattr(settings, name)))
        for servers, name, raw in found
    ]


@contextmanager
def removed_at_end(belongings: Sequence[Belongings], notify: Callable[[str], None]) -> Iterator[None]:
    """Remove what a run leaves behind when the block ends, or this process does.

    Raises ConfigurationError or ServerNotReadyError at once if its servers refuse that, or do not
    answer; InfrastructureError if it fails later. If the block fails too, `notify` gets the message.
    """
    if not belongings:
        yield
        return
    for each in belongings:
        _check(each)
    with cleanup_process("harness.run.removal", encoded(belongings)) as process:
        try:
            yield
        except BaseException:
            for failed in failures_of(process):
                notify(failed)
            raise
        if failures := failures_of(process):
            raise InfrastructureError(*failures)


def failures_of(process: subprocess.Popen[bytes]) -> list[str]:
    """Let it remove everything, and return what failed: a line each, once if both sides share a server."""
    with deferred_interrupts():
        said, _ = process.communicate()
    if process.returncode and not said:
        return [f"the removal of what the run left on servers ended with status {process.returncode}"]
    return list(dict.fromkeys(said.decode().splitlines()))


def remove(belongings: Belongings) -> None:
    """Delete everything under a run's names; an error of its client if that fails for too long."""
    deadline = time.monotonic() + PATIENCE
    nothing = 0
    while nothing < IN_A_ROW:
        try:
            nothing = 0 if _removed(belongings) else nothing + 1
        except Exception:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL)


def _check(belongings: Belongings) -> None:
    """Log in, and find nothing to remove."""
    try:
        _removed(belongings)
    except (NotApplied, Unknown) as error:
        where = ", ".join(str(server.address) for server in belongings.servers)
        said = f"{belongings.servers[0].key}: {where}: {' '.join(str(error).split())}"
        raise as_error(error, said, belongings.servers[0].key.partition(".")[0]) from error


def _removed(belongings: Belongings) -> int:
    with relay_for(belongings.servers) as relay:
        addresses = [relay.address_of(server) for server in belongings.servers]
        at = tuple(map(str, addresses))
        of = belongings.settings
        if isinstance(of, LockSettings):
            return locks.remove(replace(of, endpoints=at))
        return storages.remove(replace(of, endpoints=at, login=addresses[0].login))


def by_hand(belongings: Belongings) -> str:
    """Say how a user can remove what is left."""
    of = belongings.settings
    part = "lock" if isinstance(of, LockSettings) else ""
    systems = {server.system for server in belongings.servers}
    if "postgres" in systems:
        from workloads.storages.postgres import schema_of  # slow to import

        return f"remove it with: DROP SCHEMA IF EXISTS {schema_of(of.names, part)} CASCADE"
    if "mariadb" in systems:
        from workloads.mariadb_connection import database_of  # slow to import

        return f"remove it with: DROP DATABASE IF EXISTS {database_of(of.names, part)}"
    return f"remove everything there whose name begins with fencepost and contains {of.names}"


def main() -> None:
    """Run the command line."""
    for each in decoded(order_when_due()):
        try:
            remove(each)
        except Exception as error:  # noqa: BLE001 - of any system's library
            why = " ".join(str(error).split()) or type(error).__name__
            failed = f"what this run left in {each} could not be removed: {why}; {by_hand(each)}"
            with suppress(BrokenPipeError):  # the harness was killed
                sys.stdout.write(f"{failed}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
