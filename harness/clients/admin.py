"""Requests of the harness to a user's program: set up before a run, and read the commit order after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers.history.records import Commit
from harness.core.errors import InfrastructureError
from harness.files.logs import last_lines
from harness.processes import process_tree
from harness.processes.program import ProgramCommand
from workloads.client import NotApplied, Unknown
from workloads.commit_room import CommitRoom
from workloads.line_protocol.clients import committed, set_up
from workloads.line_protocol.program_client import ProgramClient, ProgramError

LAST_LINES = 10
PATIENCE = 10.0  # seconds; for an ordinary request


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminClient:
    """A program without a client: started for each request, and ended after it."""

    command: ProgramCommand
    start_fields: Mapping[str, Any]
    log: Path  # of its standard error

    def set_up(self, resources: Sequence[str]) -> Mapping[str, str]:
        """Let it prepare for the first acquire; return its versions. Raises InfrastructureError."""
        with self._program("set_up") as program:
            set_up(program, resources)
            return program.versions

    def committed(self, recorded: int) -> list[Commit] | None:
        """Ask for the order of accepted writes, or None; the clients recorded `recorded` bytes."""
        with self._program("committed") as program:
            return committed(program, CommitRoom(recorded))

    @contextmanager
    def _program(self, request: str) -> Iterator[ProgramClient]:
        try:
            with (
                process_tree.no_orphans(),
                closing(
                    ProgramClient(lambda: self.command.start(self.log), self.start_fields, PATIENCE)
                ) as program,
            ):
                yield program
        except ProgramError as error:
            raise self._failed(f"{error}") from error
        except (NotApplied, Unknown) as error:
            raise self._failed(f"{request}: {error}") from error

    def _failed(self, why: str) -> InfrastructureError:
        last = last_lines(self.log, LAST_LINES)
        said = "its last lines:" if last else "its standard error is empty"
        return InfrastructureError(f"{self.command}: {why}", *last, heading=said)
