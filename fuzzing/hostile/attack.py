"""What an attack is to a campaign of fuzzing."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from fuzzing.sandbox import Outcome
from fuzzing.surfaces import Files


class Case(Protocol):
    """One attack: its input, and what it does with that in a process of its own."""

    @property
    def files(self) -> Files:
        """Return the input, as far as it can be kept."""

    @property
    def codes(self) -> Collection[int]:
        """Return the exit codes that are documented."""

    def write(self, folder: Path) -> None:
        """Write the input into an empty folder."""

    def act(self) -> int:
        """Attack in the current folder, and return the exit code."""

    def broken(self, folder: Path, outcome: Outcome, /) -> Iterable[str]:
        """Say what the case did that it must not do."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Draws its cases itself."""

    draw: Callable[[int, random.Random], Iterator[Case]]
    """Yield so many cases."""
    warm_up: Callable[[], None]
    """Do what all cases need once, before they are forked."""


@contextmanager
def quick(compiled: str) -> Iterator[None]:
    """Let `campaign merge` judge in this process, which has a limit, and keep its compiled templates."""
    from jinja2 import FileSystemBytecodeCache

    from harness.campaign import merge, rejudging
    from harness.report.run import environment

    def templates(*packages: str) -> Any:
        made = environment(*packages)
        made.bytecode_cache = FileSystemBytecodeCache(compiled)
        return made

    in_this_process = patch.object(merge, "rejudged", lambda folders: map(rejudging.judge, folders))
    with (
        in_this_process,
        patch.object(import_module("harness.campaign.page.page"), "environment", templates),
    ):
        yield


@cache
def templates_folder() -> str:
    """Return a folder for compiled templates; call it before processes are forked that share it."""
    return tempfile.mkdtemp()
