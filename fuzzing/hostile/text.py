"""Hostile text × every word of a stranger × every output: nothing of it comes through."""

from __future__ import annotations

import json
import pickle
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from fuzzing.hostile import shells
from fuzzing.hostile.attack import Attack, quick, templates_folder
from fuzzing.hostile.broken import Broken
from fuzzing.hostile.inert import violations
from fuzzing.hostile.outputs import READERS, Output
from fuzzing.hostile.payloads import EVERYTHING, PAYLOADS, VISIBLE
from fuzzing.hostile.subjects import SUBJECTS
from fuzzing.hostile.words import Words
from fuzzing.sandbox import Outcome, run
from fuzzing.surfaces import Files

_FILES = {"results": "nights.db"}  # subjects that are a file; the others are folders


_FOUND = "found.json"
_MANY = (VISIBLE.name, EVERYTHING.name)
_SHARE = 0.2  # of the texts that have several attacks in them
_EACH_WORD = {"run", "shard", "results", "corpus", "foreign", "target", "logs"}
_AT_ONCE = 6  # words


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A hostile text in the place of words, read in one way."""

    reader: str
    words: tuple[str, ...]
    payload: str
    files: Files = field(default_factory=dict)  # written again by each case
    codes: Collection[int] = frozenset({0})

    def __str__(self) -> str:
        return f"{self.reader}: {self.payload!r} as {', '.join(self.words)}"

    def write(self, folder: Path) -> None:
        """The attack makes its own folders."""

    def act(self) -> int:
        """Try it, and note what came through."""
        Path(_FOUND).write_text(json.dumps(came_through(self)))
        return 0

    def broken(self, folder: Path, _outcome: Outcome) -> Iterator[str]:
        """Say what came through, once for each rule, output and word."""
        noted = folder / _FOUND
        for output, rule, _shown in json.loads(noted.read_text()) if noted.exists() else ():
            yield f"{output}: {', '.join(self.words)}: {rule}"


@cache
def words_of(subject: str) -> tuple[str, ...]:
    """Return the names of all texts of a subject."""
    words = Words()
    with tempfile.TemporaryDirectory() as folder:
        SUBJECTS[subject](words, Path(folder) / _FILES.get(subject, subject))
    return tuple(words.asked)


@cache
def harmless(reader: str) -> dict[str, Output]:
    """Return the outputs of a reader without any hostile text, by name.

    They are made in another process: commands leave traces in theirs. Its modules are imported here, so
    that forks of this process have them.
    """
    templates_folder()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"

        def act() -> int:
            outputs = _read(reader, Words())
            made.write_bytes(pickle.dumps((outputs, sorted(sys.modules))))
            return 0

        ended = run(act, Path(folder), longest=60.0)
        if not made.exists():
            raise RuntimeError(f"{reader} fails without a hostile text: {ended.said}")
        outputs, modules = pickle.loads(made.read_bytes())  # noqa: S301 (our own)
    for name in modules:
        with suppress(Exception):
            import_module(name)
    return {output.name: output for output in outputs}


def came_through(case: Text) -> list[tuple[str, str, str]]:
    """Try one case; return the outputs in which a rule is broken, the rules, and the places."""
    payload = PAYLOADS[case.payload]
    before = harmless(case.reader)
    found: dict[tuple[str, str], str] = {}
    for output in _read(case.reader, Words(dict.fromkeys(case.words, payload.text))):
        unchanged = before.get(output.name)
        for each in (*violations(output, unchanged, payload), *_pasted(output, unchanged)):
            found.setdefault((output.name, each.rule), each.shown)
    return [(*key, shown) for key, shown in found.items()]


def _read(reader: str, words: Words) -> list[Output]:
    subject, read = READERS[reader]
    folder = tempfile.mkdtemp()
    try:
        with chdir(folder), quick(templates_folder()):
            path = Path(_FILES.get(subject, subject))
            SUBJECTS[subject](words, path)
            return list(read(path))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pasted(output: Output, before: Output | None, names: Sequence[str] = shells.SHELLS) -> Iterator[Broken]:
    """Paste the commands that an output offers: nothing of a stranger's runs, and no word is split."""
    usual = set(map(_without_folders, shells.commands(before))) if before else set()
    lines = [line for line in shells.commands(output) if _without_folders(line) not in usual]
    known = {call for each in _calls_of(before) for call in each.calls} if before else set()
    for name in names if lines else ():
        pasted, ran = shells.paste(lines, name)
        if ran:
            yield Broken(f"a stranger's command runs in {name}", f"{lines!r:.600}")
        for each in pasted:
            yield from _of_stranger(each, known)


_FOLDER = re.compile(r"/\S*/tmp\w+(?=/)|\d{8}T\d{6}-[0-9a-f]{6}")


def _without_folders(line: str) -> str:
    """Return a command without what differs each time."""
    return _FOLDER.sub("", line)


@cache
def _calls_of(output: Output) -> tuple[shells.Pasted, ...]:
    lines = shells.commands(output)
    return tuple(shells.paste(lines, "bash")[0]) if lines else ()


def _of_stranger(pasted: shells.Pasted, known: set[tuple[str, ...]]) -> Iterator[Broken]:
    """A pasted line calls the command once, with no more words than without the hostile text."""
    options = {word for call in known for word in call if word.startswith("-")}
    longest = max(map(len, known), default=0)
    if len(pasted.calls) > 1:
        yield Broken("several calls in a line to copy", f"{pasted.line!r:.300}")
    for call in pasted.calls:
        if known and (len(call) > longest or call[0] not in {each[0] for each in known if each}):
            yield Broken("additional words in a line to copy", f"{call!r:.300}")
        for word in call:
            if word.startswith("-") and word not in options:
                yield Broken("an option of a stranger in a line to copy", f"{word!r:.100}")


@cache
def one_turn(seed: int) -> tuple[Text, ...]:
    """Draw a case for each word, read in one way, and for each other way to read it, several words at once.

    Several are quicker, but one of them may make the command refuse what it reads.
    """
    rng = random.Random(seed)
    return tuple(
        Text(reader=reader, words=words, payload=rng.choice(_MANY))
        for reader, (subject, _) in READERS.items()
        for words in _groups(words_of(subject), 1 if reader in _EACH_WORD else _AT_ONCE, rng)
    )


def _groups(words: Sequence[str], most: int, rng: random.Random) -> Iterator[tuple[str, ...]]:
    shuffled = rng.sample(words, len(words))
    return (tuple(shuffled[at : at + most]) for at in range(0, len(shuffled), most))


def draw(number: int, rng: random.Random) -> Iterator[Text]:
    """Draw cases of any reader, word and text."""
    for _ in range(number):
        reader = rng.choice(list(READERS))
        word = rng.choice(words_of(READERS[reader][0]))
        payload = rng.choice(_MANY) if rng.random() < _SHARE else rng.choice(list(PAYLOADS))
        yield Text(reader=reader, words=(word,), payload=payload)


def warm_up() -> None:
    """Make what all cases are compared with."""
    templates_folder()
    for reader in READERS:
        harmless(reader)


ATTACK = Attack(draw, warm_up)
