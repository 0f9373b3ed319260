"""Run folders, shards, results and corpora with surprises in them: nothing outside is written or read.

A command gets what a stranger handed over. Afterwards everything that the user did not name must be as it
was, and nothing of it may be in what the command wrote or printed.
"""

from __future__ import annotations

import os
import random
import re
import tempfile
import webbrowser
from collections.abc import Collection, Iterator
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath
from unittest.mock import patch

from fuzzing.hostile import box as boxes
from fuzzing.hostile.attack import Attack, quick, templates_folder
from fuzzing.hostile.box import SECRET, Entry
from fuzzing.hostile.surprises import LINKS, PATHS, SURPRISES, replaced
from fuzzing.hostile.text import words_of
from fuzzing.hostile.words import Words
from fuzzing.sandbox import Outcome
from fuzzing.surfaces import Files, command

_FAILING = {"run", "shrink", "merge"}  # commands that may end in an infrastructure failure
_JUDGED = tuple(
    f"work/given/{name}" for name in ("history.jsonl", "verdict.json", "report.html", "junit.xml")
)
_SHRUNK = tuple(
    f"work/given/{name}"
    for name in ("minimal.jsonl", "minimal-commits.jsonl", "minimal.toml", "minimal-plan.json")
)
_RECHECKED = tuple(each.replace("/given/", "/runs/t/1/") for each in _JUDGED)
_NIGHTS = ("work/nights", "work/nights/*", "work/nights.db*")


@dataclass(frozen=True, slots=True)
class Attacked:
    """A command that reads what a stranger handed over, and what it may write."""

    subject: str
    arguments: tuple[str, ...]
    writable: tuple[str, ...] = ()
    named: str = "given"

    @property
    def followed(self) -> Iterator[PurePath]:
        """What the user names, which may lie behind links."""
        for word in self.arguments:
            if word == self.named or word.startswith(f"{self.named}/"):
                yield PurePath(word).relative_to(self.named)


_NAMES = {
    "target", "resource", "value", "folder", "option", "history's path", "campaign", "shard", "canary", "cell",
    "campaign file", "target file", "shared servers", "folder of a run", "run folder", "log file",
    "name in the campaign", "name in the target", "fingerprint", "cell of a row", "folder of a row",
    "folder of an earlier night", "campaign of a row", "seed", "seed of a row", "replay", "entry", "broken entry",
    "fingerprint of an entry", "target of an entry", "key of Jepsen", "value of Jepsen", "file", "name",
}  # fmt: skip
"""The words that might become a part of a path."""
_SHARE_OF_PATHS = 0.4  # of all cases; the others have surprises
_DATED = re.compile(r"\d{8}T\d{6}-[0-9a-f]{6}")
_RUN_NOWHERE = ("--engine", "docker")  # there is none
COMMANDS: dict[str, Attacked] = {
    "recheck": Attacked("run", ("recheck", "given"), _JUDGED),
    "recheck as JSON": Attacked("judged", ("recheck", "--format", "json", "given"), _JUDGED),
    "recheck a history": Attacked("run", ("recheck", "given/history.jsonl")),
    "recheck with commits": Attacked(
        "run", ("recheck", "given/history.jsonl", "--commits", "given/commits.jsonl")
    ),
    "recheck the latest": Attacked("runs", ("recheck", "t", "--runs", "runs"), _RECHECKED, "runs"),
    "show": Attacked("judged", ("show", "given")),
    "show the latest": Attacked("runs", ("show", "t", "--runs", "runs"), named="runs"),
    "shrink": Attacked("run", ("shrink", "--no-runs", "given"), _SHRUNK),
    "shrink with runs": Attacked(
        "run",
        ("shrink", "given", "--repeat", "1", "--max-time", "1s", *_RUN_NOWHERE),
        (*_SHRUNK, "work/given/minimal-runs", "work/given/minimal-runs/*"),
    ),
    "corpus add": Attacked(
        "run", ("corpus", "add", "given", "--corpus", "corpus"), ("work/corpus", "work/corpus/*")
    ),
    "export": Attacked("run", ("export", "given", "--to", "jepsen-edn", "-o", "out"), ("work/out",)),
    "export by a model": Attacked(
        "run",
        ("export", "given", "--to", "porcupine-etcd", "--model", "register", "-o", "out"),
        ("work/out",),
    ),
    "import": Attacked("run", ("import", "given", "--model", "fenced-mutex", "-o", "out"), ("work/out",)),
    "validate": Attacked("run", ("validate", "given")),
    "validate the target": Attacked("run", ("validate", "given/target.toml")),
    "run a plan": Attacked(
        "run",
        ("run", "--plan", "given/plan.json", *_RUN_NOWHERE, "given/target.toml"),
        ("work/runs", "work/runs/*"),
    ),
    "merge": Attacked("shard", ("campaign", "merge", "given", "--nights", "nights"), _NIGHTS),
    "merge with results": Attacked(
        "shard", ("campaign", "merge", "given", "--nights", "nights", "--history", "nights.db"), _NIGHTS
    ),
    "recheck a run of a night": Attacked(
        "shard",
        ("recheck", "given/runs/failed/20261122T030000-0a1b2c3d"),
        tuple(each.replace("/given/", "/given/runs/failed/20261122T030000-0a1b2c3d/") for each in _JUDGED),
    ),
    "seeds": Attacked("results", ("campaign", "seeds", "--history", "given"), ("work/given*",)),
    "seeds with targets": Attacked(
        "results",
        ("campaign", "seeds", "--history", "given", "--targets", "targets"),
        ("work/given*", "work/targets", "work/targets/*"),
    ),
    "recheck results": Attacked("results", ("campaign", "recheck", "--history", "given"), ("work/given*",)),
    "corpus check": Attacked("corpus", ("corpus", "check", "given")),
    "recheck another tool's": Attacked("foreign", ("recheck", "given/jepsen.edn", "--model", "register")),
    "import another tool's": Attacked(
        "foreign", ("import", "given/jepsen.json", "--model", "register", "-o", "out"), ("work/out",)
    ),
    "validate targets": Attacked("target", ("validate", "given")),
}
"""The commands, by a name."""
_NEW = {
    "run": (
        "verdict.json", "report.html", "junit.xml", "header.json", "events", "events/client-0.jsonl", "logs",
        "minimal.jsonl", "minimal-commits.jsonl", "minimal.toml", "minimal-plan.json", "minimal-runs", "latest",
    ),
    "shard": ("index.html", "latest", "runs/failed/1/events"),
    "runs": ("t/1/verdict.json", "t/1/report.html", "t/1/events"),
    "results": ("",),
}  # fmt: skip
"""Places where a command might write or read something that is not there yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A command, with surprises by their places, and paths by the words in whose place they are."""

    command: str
    surprises: tuple[tuple[str, str], ...] = ()
    paths: tuple[tuple[str, str], ...] = ()
    files: Files = field(default_factory=dict)  # they cannot be kept: some are devices, some never end
    before: dict[str, Entry] = field(default_factory=dict)

    def __str__(self) -> str:
        planted = [f"{surprise} in the place of {place}" for place, surprise in self.surprises]
        named = [f"{path[:60]!r} as {word}" for word, path in self.paths]
        return f"{self.command}: {', '.join([*planted, *named])}"

    @property
    def codes(self) -> Collection[int]:
        """Without an engine, a run is an infrastructure failure, and a run of a shard may have been one."""
        may_fail = _FAILING & set(COMMANDS[self.command].arguments)
        return {0, 1, 2, 4, 5, *[3] * bool(may_fail)}

    def write(self, folder: Path) -> None:
        """Fill a box."""
        attacked, outside = COMMANDS[self.command], folder / "outside"
        paths = {word: path.replace("{outside}", str(outside)) for word, path in self.paths}
        given = boxes.build(folder, attacked.subject, Words(paths), attacked.named)
        for place, surprise in self.surprises:
            with suppress(OSError):  # another surprise is in the way
                SURPRISES[surprise](given / place, outside / attacked.named / place)
        self.before.update(boxes.snapshot(folder))

    def act(self) -> int:
        """Run the command in the box."""
        os.environ.update(boxes.environment(Path.cwd()))
        os.environ["DISPLAY"] = ":0"
        with chdir("work"), quick(templates_folder()), patch.object(webbrowser, "open", lambda _url: True):
            return command(*COMMANDS[self.command].arguments)

    def broken(self, folder: Path, outcome: Outcome) -> Iterator[str]:
        """Say what was written, or read, that the user did not name."""
        after = boxes.snapshot(folder)
        for change in boxes.changed(self.before, after, COMMANDS[self.command].writable):
            yield f"{self.command}: {change}"
        if not self._may_read_outside:
            for path in boxes.leaked(folder, self.before, after):
                yield f"{self.command}: {_DATED.sub('…', path)} has what is outside"
            if SECRET in outcome.said:
                yield f"{self.command}: what is outside was printed"

    @property
    def _may_read_outside(self) -> bool:
        """What the user named may lie behind links, and a hard link is the file itself."""
        named = list(COMMANDS[self.command].followed)
        return any(
            surprise == "a hard link" or any(path.is_relative_to(replaced(place, surprise)) for path in named)
            for place, surprise in self.surprises
        )


@cache
def places(subject: str) -> tuple[str, ...]:
    """Return the places of a subject where a surprise can be."""
    with tempfile.TemporaryDirectory() as folder:
        given = boxes.build(Path(folder), subject, Words(), "given")
        found = [str(each.relative_to(given)) for each in sorted(given.rglob("*")) if given.is_dir()]
    new = _NEW.get("run" if subject == "judged" else subject, ())
    return tuple(dict.fromkeys([*found, *new]))


def draw(number: int, rng: random.Random) -> Iterator[Planted]:
    """Draw cases, so that each command has its turn before any has its second."""
    names: list[str] = []
    for _ in range(number):
        names = names or rng.sample(list(COMMANDS), len(COMMANDS))
        yield _drawn(names.pop(), rng)


def _drawn(name: str, rng: random.Random) -> Planted:
    subject = COMMANDS[name].subject
    if rng.random() < _SHARE_OF_PATHS:
        words = rng.sample(words_of(subject), rng.choice([1, 1, 2]))
        if names := [word for word in words_of(subject) if word in _NAMES]:
            words = [rng.choice(names), *words[1:]]
        return Planted(command=name, paths=tuple((word, rng.choice(PATHS)) for word in words))
    chosen = rng.sample(places(subject), min(len(places(subject)), rng.choice([1, 1, 2])))
    return Planted(command=name, surprises=tuple((place, rng.choice(_fitting(place))) for place in chosen))


def _fitting(place: str) -> list[str]:
    """What is given itself is named by the user, who may name a link; only some files are compressed."""
    packed = place.endswith(".xz")
    return [name for name in SURPRISES if (place or name not in LINKS) and (packed or name != "a bomb of xz")]


def warm_up() -> None:
    """Find the places of all subjects; they are the same in all cases."""
    templates_folder()
    for attacked in COMMANDS.values():
        places(attacked.subject)
        words_of(attacked.subject)


ATTACK = Attack(draw, warm_up)
