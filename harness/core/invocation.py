"""Commands printed for the user to paste into a shell.

A command is a list of words until it is printed. Passwords are hidden in its options and settings, and
only then is each word quoted, so that nothing in a word ends the quotes. A command is not printed at all if
a name would be hidden, because it would not find that file, or if the escaping of messages would change it.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checkers.text import printable
from checkers.text.redaction import has_password, redacted_document
from harness.core.paths import as_seen_from_here

NAME = "fencepost"
NO_FAULTS = "--no-faults"
SET = "--set"
NOT_SHOWN = (
    "# this command has a name that cannot be shown on one line, or that looks like a password."
    " Rename that file or folder"
)
"""In place of such a command. Nothing in it means anything to a shell, in case somebody pastes it."""
_LONGEST = 4_000  # characters; a message would be cut after 5,000
_PLAIN = re.compile(r"[A-Za-z0-9_@%+,./:-]+")
"""Words that need no quotes. zsh replaces `=word`, and `a=b/fencepost` would be an assignment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What is needed to repeat a run, in addition to its target and its seed."""

    options: tuple[str, ...] = ()
    folder: str = ""  # where a client program or a class of the user's own was found; empty without one
    python_path: str = ""  # PYTHONPATH, as it was then


NOTHING_ELSE = Repetition()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The words of a command, and where it runs; `str` prints it for a POSIX shell.

    No comment follows it: in an interactive zsh, a `#` begins none, and its words would be arguments.
    """

    words: tuple[str, ...]
    folder: str = ""  # absolute; empty: any
    python_path: str = ""

    def __str__(self) -> str:
        line = " ".join(map(_quoted, redacted_document(self.words)))
        if self.python_path:
            line = f"PYTHONPATH={_quoted(self.python_path)} {line}"
        if self.folder:
            line = f"cd {_quoted(self.folder)} && {line}"
        if self._hides_a_name() or len(line) > _LONGEST or line != printable.line(line):
            return NOT_SHOWN
        return line

    def _hides_a_name(self) -> bool:
        """Would a word be hidden, in part, that may name a file? No option and no setting does."""
        words = zip(("", *self.words), self.words, strict=False)
        names = (word for before, word in words if before != SET and not word.startswith("--"))
        return any(map(has_password, (*names, self.folder, self.python_path)))


def typed(*words: str | Path) -> str:
    """Print a Fencepost command for a shell, such as `fencepost recheck runs/t/latest`."""
    return str(Command(words=(_program(), *_words(words))))


def typed_anywhere(*words: str | Path) -> str:
    """Like `typed`, for a shell in any folder: all paths are absolute, including the program's."""
    return str(_anywhere(words))


def again(target: str | Path, seed: int | None, how: Repetition) -> Command:
    """Return the command that repeats a run, from any folder."""
    named = Path(target) if str(target).startswith("-") else target  # never an option
    command = _anywhere(["run", named, *([] if seed is None else ["--seed", str(seed)]), *how.options])
    if not Path(how.folder).is_absolute():  # nowhere, or a word such as `-` that means another folder
        return command
    return Command(words=command.words, folder=how.folder, python_path=how.python_path)


def _anywhere(words: Iterable[str | Path]) -> Command:
    absolute = (word.absolute() if isinstance(word, Path) else word for word in words)
    return Command(words=(_program(as_seen=False), *_words(absolute)))


def _words(words: Iterable[str | Path]) -> Iterable[str]:
    """Write paths so that none looks like an option."""
    return (
        f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words
    )


def _quoted(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", r"'\''") + "'"


def _program(*, as_seen: bool = True) -> str:
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
    return str(seen) if len(seen.parts) > 1 else f"./{seen}"
