"""Commands printed for the user to copy."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core.paths import as_seen_from_here

NAME = "fencepost"


def typed(*words: str | Path) -> str:
    """Quote a Fencepost command for a shell, such as `fencepost recheck runs/t/latest`."""
    return " ".join([program(), *(shlex.quote(str(word)) for word in words)])


def again(target: str | Path, seed: int | None, options: Sequence[str]) -> str:
    """Return the command that repeats a run, with the same target, seed and options."""
    return typed("run", target, *([] if seed is None else ["--seed", str(seed)]), *options)


def program() -> str:
    """Return `fencepost` if the shell finds this program under that name, otherwise its path.

    A program started under another name, such as a test or `python -m`, gets the plain name.
    """
    started = Path(sys.argv[0])
    if started.name != NAME or not started.is_file():
        return NAME
    found = shutil.which(NAME)
    if found is not None and started.samefile(found):
        return NAME
    seen = as_seen_from_here(started.absolute())
    return shlex.quote(str(seen) if len(seen.parts) > 1 else f"./{seen}")
