"""The sentences about the histories of the tests: each kind of sentence once in a golden file.

There is one file for the literal histories, then one for those of other tools, and one for recorded runs.
A history lists the sentences that no history before it has in the same form; "…" stands for the others. So
every kind of sentence is in a file, and rewording one changes a line or two. What a history shows is
among its facts: see `golden_verdicts`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from pathlib import Path

from checkers.vocabulary.verdict import Verdict
from tests.support.repository import HISTORIES

LEFT_OUT = "…"
ABOUT = (
    "Sentences about histories, each form of sentence once:"
    f' "{LEFT_OUT}" stands for those above, or in tests/histories/words.txt.'
)
_AS_ZERO = str.maketrans("123456789", "000000000")


def form(sentence: str) -> str:
    """What a sentence has in common with those that differ in numbers only.

    Every digit becomes a 0, and of equal characters in a row one is left: 0.5 and 12.25 both become 0.0.
    """
    return "".join(character for character, _ in groupby(sentence.translate(_AS_ZERO)))


def words_of(verdict: Verdict, seen: Iterable[str] = ()) -> list[str]:
    """The words of a verdict as lines, without those whose form has been seen."""
    forms = set(seen)
    lines: list[str] = []
    for paragraph in _paragraphs(verdict):
        new = [line if _is_new(line, forms) else LEFT_OUT for line in paragraph]
        if any(line != LEFT_OUT for line in new):
            shown = [
                line for line, several in groupby(new) for _ in ([line] if line == LEFT_OUT else several)
            ]
            lines += ["", *shown] if lines else shown
    return lines


def _is_new(line: str, forms: set[str]) -> bool:
    is_new = form(line) not in forms
    forms.add(form(line))
    return is_new


def _paragraphs(verdict: Verdict) -> Iterator[list[str]]:
    """Reasons and notices, then the summary, the story and the steps of each finding."""
    yield [*(f"reason: {each}" for each in verdict.reasons), *(f"notice: {each}" for each in verdict.notices)]
    for finding in (*verdict.findings, *verdict.counted):
        yield [
            f"{finding.anomaly}: {finding.summary}",
            *(f"  {sentence}" for sentence in finding.story),
            *(f"- {step}" for step in finding.steps),
        ]


FILES = tuple(HISTORIES.joinpath(*folder, "words.txt") for folder in ((), ("foreign",), ("zoo",)))
"""Of literal histories, of those of other tools, and of recorded runs."""


def words_file(name: str) -> Path:
    """The file with the words of a history."""
    folder = HISTORIES / name.split("/", maxsplit=1)[0]
    return next((file for file in FILES if file.parent == folder), FILES[0])


def read_words() -> dict[str, list[str]]:
    """The sections of all files, by the names of histories."""
    return {name: lines for file in FILES for name, lines in read_sections(file).items()}


def seen_above(name: str, sections: Mapping[str, Sequence[str]], order: Iterable[str]) -> set[str]:
    """The forms of the sentences in the sections of the histories before one of them."""
    above = takewhile(lambda each: each != name, order)
    return {form(line) for each in above for line in sections.get(each, ())}


def write_words(verdicts: Mapping[str, Verdict], order: Sequence[str]) -> None:
    """Write the words of some histories; `order` has all of them."""
    sections = read_words()
    for name in order:
        if name in verdicts:
            sections[name] = words_of(verdicts[name], seen_above(name, sections, order))
    for file in FILES:
        names = [name for name in order if words_file(name) == file]
        write_sections(file, ABOUT, {name: sections.get(name, []) for name in names})


WRITE = "read it, and write it with `make golden`"
_HEAD, _TAIL = "== ", " =="


def read_sections(file: Path) -> dict[str, list[str]]:
    """The lines of each section, by name, in the order of the file."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []  # those above the first section say what the file is
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith(_HEAD) and line.endswith(_TAIL):
            lines = sections.setdefault(line[len(_HEAD) : -len(_TAIL)], [])
        else:
            lines.append(line)
    return {name: _without_end(lines) for name, lines in sections.items()}


def write_sections(file: Path, about: str, sections: Mapping[str, Sequence[str]]) -> None:
    """Write the sections that have any lines, below a line that says what the file is."""
    text = [about]
    for name, lines in sections.items():
        text += ["", f"{_HEAD}{name}{_TAIL}", *lines] if lines else []
    file.write_text("\n".join(text) + "\n", encoding="utf-8")


def changes(golden: Iterable[str], now: Iterable[str]) -> str:
    """What differs, as a unified diff; empty if nothing does."""
    return "\n".join(difflib.unified_diff([*golden], [*now], "golden", "now", lineterm="", n=1))


def _without_end(lines: Sequence[str]) -> list[str]:
    """Without the blank line before the next section."""
    return list(lines[:-1] if lines and not lines[-1] else lines)
