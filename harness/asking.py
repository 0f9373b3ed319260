"""What the harness itself asks of a program: to set up before a run, and what was accepted after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers.history import Commit
from harness import family
from harness.errors import InfrastructureError
from harness.program import Command
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.clients import committed, set_up
from workloads.line_protocol.conversation import Conversation, ProgramError

LAST_LINES = 10
PATIENCE = 10.0  # seconds; for an ordinary request


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A program of the harness' own: started for each question, and ended after it."""

    command: Command
    introduction: Mapping[str, Any]
    log: Path  # of its standard error

    def set_up(self, resources: Sequence[str]) -> None:
        """Have it make what it needs before the first acquire; InfrastructureError if that fails."""
        with self._conversation() as conversation:
            set_up(conversation, resources)

    def committed(self) -> list[Commit] | None:
        """Have it tell the order of accepted writes; None if it knows none."""
        with self._conversation() as conversation:
            return committed(conversation)

    @contextmanager
    def _conversation(self) -> Iterator[Conversation]:
        try:
            with (
                family.no_orphans(),
                closing(
                    Conversation(lambda: self.command.start(self.log), self.introduction, PATIENCE)
                ) as conversation,
            ):
                yield conversation
        except (ProgramError, NotApplied, Unknown) as error:
            raise InfrastructureError(f"{self.command}: {error}; {self._last_words()}") from error

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:]
        return "\n".join([f"it said, in {self.log}:", *lines]) if lines else "its standard error is empty"
