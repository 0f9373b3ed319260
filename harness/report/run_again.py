"""How to repeat a recorded run, which may come from a stranger: no pasted line may start that one's code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from harness.core.invocation import Command, Repetition, again
from harness.files import run_files
from harness.spec.executed import ADD_TRUST, NOTHING, Executed, executed_again


@dataclass(frozen=True, slots=True)
class RunAgain:
    """The command that repeats a run, and what it would execute that has never run on this machine."""

    command: Command
    unknown: Executed = NOTHING
    made_with: str = ""  # the plan, version and commit of that run, as far as they are known

    def notes(self) -> Iterator[str]:
        """Yield lines about that run, and about what it would execute, unless the user has run all that."""
        if self.made_with:
            yield f"that run: {self.made_with}"
        if self.unknown.refused:
            yield f"its target is refused: {self.unknown.refused}"
        if self.unknown.settings:
            yield f"it would execute what has not run on this machine; {ADD_TRUST}:"
            yield from self.unknown.lines()


def run_again(target: str | Path, seed: int | None, how: Repetition, text: str | None) -> RunAgain:
    """Return how to repeat a run, by the text of its target file.

    A folder and a PYTHONPATH are part of the command only if this user has run the same code there:
    otherwise anything in them, such as a sitecustomize.py, would run before Fencepost asks.
    """
    executed = executed_again(text, how)
    if executed.folder and executed.is_trusted:
        return RunAgain(again(target, seed, how))
    command = again(target, seed, replace(how, folder="", python_path=""))
    return RunAgain(command, NOTHING if executed.is_trusted else executed)


def run_folder_again(folder: Path, seed: int | None, how: Repetition) -> RunAgain:
    """Return how to repeat the run in a folder."""
    return run_again(folder / run_files.TARGET, seed, how, run_files.text(folder, run_files.TARGET))
