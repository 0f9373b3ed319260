"""How the user can type `fencepost` here: what is printed is meant to be copied."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core.paths import as_seen_from_here

NAME = "fencepost"


def typed(*words: str | Path) -> str:
    """Write a command of ours, such as `fencepost recheck runs/t/latest`, as a shell takes it."""
    return " ".join([program(), *(shlex.quote(str(word)) for word in words)])


def again(target: str | Path, seed: int | None, options: Sequence[str]) -> str:
    """Write the command that repeats a run: the same target and seed, and the options that it was given."""
    return typed("run", target, *([] if seed is None else ["--seed", str(seed)]), *options)


def program() -> str:
    """Give `fencepost` where the shell finds this very program, else the path that it was started with.

    What was started by another name, such as a test or `python -m`, is told by the plain one.
    """
    started = Path(sys.argv[0])
    if started.name != NAME or not started.is_file():
        return NAME
    found = shutil.which(NAME)
    if found is not None and started.samefile(found):
        return NAME
    seen = as_seen_from_here(started.absolute())
    return shlex.quote(str(seen) if len(seen.parts) > 1 else f"./{seen}")
