"""Commands printed for the user to copy."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from harness.core.paths import as_seen_from_here

NAME = "fencepost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What is needed to repeat a run, in addition to its target and its seed."""

    options: tuple[str, ...] = ()
    folder: str = ""  # where a client program or a class of the user's own was found; empty without one
    python_path: str = ""  # PYTHONPATH, as it was then


NOTHING_ELSE = Repetition()


def typed(*words: str | Path) -> str:
    """Quote a Fencepost command for a shell, such as `fencepost recheck runs/t/latest`."""
    return _quoted(program(), *words)


def typed_anywhere(*words: str | Path) -> str:
    """Like `typed`, for a shell in any folder: all paths are absolute, including the program's."""
    return _quoted(
        program(as_seen=False), *(word.absolute() if isinstance(word, Path) else word for word in words)
    )


def again(target: str | Path, seed: int | None, how: Repetition) -> str:
    """Return the command that repeats a run, from any folder."""
    command = typed_anywhere("run", target, *([] if seed is None else ["--seed", str(seed)]), *how.options)
    if not how.folder:
        return command
    found_in = f"PYTHONPATH={shlex.quote(how.python_path)} " if how.python_path else ""
    return f"cd {shlex.quote(how.folder)} && {found_in}{command}"


def _quoted(called: str, *words: str | Path) -> str:
    return " ".join([called, *(shlex.quote(str(word)) for word in words)])


def program(*, as_seen: bool = True) -> str:
    """Return `fencepost` if the shell finds this program under that name, otherwise its path.

    The path is relative if it is below the current folder, unless `as_seen` is False. A program
    started under another name, such as a test or `python -m`, gets the plain name.
    """
    started = Path(sys.argv[0])
    if started.name != NAME or not started.is_file():
        return NAME
    found = shutil.which(NAME)
    if found is not None and started.samefile(found):
        return NAME
    seen = as_seen_from_here(started.absolute()) if as_seen else started.absolute()
    return shlex.quote(str(seen) if len(seen.parts) > 1 else f"./{seen}")
