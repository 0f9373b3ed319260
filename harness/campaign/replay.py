"""How to repeat a run: everything that determines its schedule of faults."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path, PurePath

import msgspec

from checkers.history.files import read_bytes
from checkers.text import limits
from checkers.text.errors import HistoryError
from harness.core.invocation import NAME, Repetition
from harness.files import run_files
from harness.files.environment import known_options, repetition_in
from harness.files.run_folder import PLAN
from harness.report.run_again import RunAgain, run_again

_DIGITS = 12  # of a digest
_PATH = "PYTHONPATH="
_FACTS = {
    "plan": re.compile(rf"[0-9a-f]{{{_DIGITS}}}"),
    "fencepost": re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}"),
    "commit": re.compile(r"[0-9a-f]{7,64}(-dirty)?"),
}
"""What may be said of the run. It may come from a stranger."""


_COMMENT = re.compile(r"  # plan (?P<plan>\S+), fencepost (?P<fencepost>\S+?)(, commit (?P<commit>\S+))?")


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What repeats a run, as it is stored; a command is made of it only when it is printed."""

    target: str  # the file
    seed: int
    options: tuple[str, ...] = ()
    folder: str = ""
    python_path: str = ""
    plan: str = ""
    fencepost: str = ""
    commit: str = ""

    def run_again(self, text: str | None, file: str | Path = "") -> RunAgain:
        """Return how to repeat it, by the text of its target, which may be in another file now.

        It names the plan, version and commit of the run, as far as they look like that.
        """
        how = Repetition(
            options=known_options(self.options), folder=self.folder, python_path=self.python_path
        )
        found = run_again(file or self.target, self.seed, how, text)
        facts = ((name, getattr(self, name), form) for name, form in _FACTS.items())
        made_with = ", ".join(f"{name} {value}" for name, value, form in facts if form.fullmatch(value))
        return replace(found, made_with=made_with)


def digest(plan: Path) -> str | None:
    """Name the schedule of faults in a plan.json: it is the same for every run of a target with a seed."""
    try:
        schedule = json.loads(read_bytes(plan, limits.DOCUMENT, within=plan.parent))["planned"]
    except (HistoryError, ValueError, KeyError, TypeError):
        return None
    return hashlib.sha256(json.dumps(schedule, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def replay_of(folder: Path, seed: int, *, version: str, commit: str | None) -> Replay:
    """Return what repeats the run in a folder."""
    how = repetition_in(folder)
    return Replay(
        target=str((folder / run_files.TARGET).absolute()),
        seed=seed,
        options=how.options,
        folder=how.folder,
        python_path=how.python_path,
        plan=digest(folder / PLAN) or "",
        fencepost=version,
        commit=commit or "",
    )


def stored_replay(words: str | None, line: str) -> Replay | None:
    """Read what the results have: JSON, or in a row of an earlier version, the line that it printed.

    None if it is neither: it is not known what such a line would do in a shell.
    """
    if words is None:
        return _of_line(line)
    try:
        return msgspec.json.decode(words, type=Replay)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _of_line(line: str) -> Replay | None:
    """Read `[cd FOLDER && [PYTHONPATH=PATH ]]fencepost run FILE --seed N [OPTION…][  # FACTS]`."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    folder = python_path = place = ""
    if words[:1] == ["cd"] and words[2:3] == ["&&"]:
        folder, words = words[1], words[3:]
        place = f"cd {shlex.quote(folder)} && "
        if words and words[0].startswith(_PATH):
            python_path, words = words[0].removeprefix(_PATH), words[1:]
            place += f"{_PATH}{shlex.quote(python_path)} "
    match words:
        case [program, "run", target, "--seed", seed, *options] if PurePath(program).name == NAME:
            command = place + shlex.join(words)
        case _:
            return None
    if not line.startswith(command) or not seed.isdecimal() or known_options(options) != tuple(options):
        return None
    facts = _COMMENT.fullmatch(line.removeprefix(command))
    return Replay(
        target=target,
        seed=int(seed),
        options=tuple(options),
        folder=folder,
        python_path=python_path,
        **{name: value or "" for name, value in (facts.groupdict() if facts else {}).items()},
    )
