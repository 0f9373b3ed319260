"""A card for each release of a library: which are made, and which release changed an answer.

The first and the last are made, and then, wherever two neighbours answer a question differently, the one in
the middle between them: so each change is narrowed down to two releases, and nothing is made in between two
that agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from harness.card.answers import AnsweredQuestion
from harness.card.words import MARKS, Word
from harness.core.errors import ConfigurationError
from harness.report.markdown import inert, row

PLACE = "{version}"
"""In the commands that install and start an adapter: the release."""
NOT_MADE = "·"
_DECISIVE = ("yes", "no", "none")

Answers = Mapping[str, Sequence[AnsweredQuestion]]
"""What the cards that were made answer, by release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The releases of a library, the oldest first."""

    library: str  # as the program names it in its answer to start
    versions: tuple[str, ...]
    install: str = ""  # a command

    @classmethod
    def parsed(cls, text: str, install: str) -> Releases:
        """Read "redisson=3.43.0,3.45.1"; ConfigurationError says what is wrong with it."""
        library, equals, listed = text.partition("=")
        versions = tuple(each.strip() for each in listed.split(","))
        if not (library and equals and all(versions)):
            example = "such as --versions redisson=3.43.0,3.46.0"
            raise ConfigurationError(f"--versions {text}: name a library and its releases, {example}")
        if len(versions) < 2 or len({*versions}) < len(versions):  # noqa: PLR2004 - a change needs two
            raise ConfigurationError(
                f"--versions {text}: name at least two releases, each once, oldest first"
            )
        return cls(library=library.strip(), versions=versions, install=install)


class ReleaseChange(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is another one from some release on."""

    key: str
    question: str
    last: str  # the last release with the old answer
    old: Word
    first: str  # the first one with the new answer
    new: Word

    @property
    def said(self) -> str:
        """A sentence without its full stop."""
        return f"{self.question.rstrip('?')}: {self.old} up to {self.last}, {self.new} from {self.first} on"


def next_to_make(versions: Sequence[str], made: Answers) -> str | None:
    """Return the release whose card tells most; None once all changes are narrowed down."""
    for version in (versions[0], versions[-1]):
        if version not in made:
            return version
    for change in changes(versions, made):
        between = versions[versions.index(change.last) + 1 : versions.index(change.first)]
        unmade = [each for each in between if each not in made]
        if unmade:
            return unmade[len(unmade) // 2]
    return None


def changes(versions: Sequence[str], made: Answers) -> Iterator[ReleaseChange]:
    """Yield where the answer to a question changes; a card that does not show it is passed over."""
    known = [version for version in versions if version in made]
    for answers in zip(*(made[version] for version in known), strict=True):
        shown = [
            (version, answer)
            for version, answer in zip(known, answers, strict=True)
            if answer.word in _DECISIVE
        ]
        for (last, old), (first, new) in itertools.pairwise(shown):
            if old.word != new.word:
                yield ReleaseChange(
                    key=old.key,
                    question=old.question,
                    last=last,
                    old=old.word,
                    first=first,
                    new=new.word,
                )


def rows(releases: Releases, made: Answers) -> Iterator[tuple[str, ...]]:
    """Yield a head, and a row for each question that some card answers."""
    yield (releases.library, *releases.versions)
    known = {version: {each.key: each for each in answers} for version, answers in made.items()}
    for question in next(iter(made.values()), ()):
        cells = [_cell(known.get(version, {}).get(question.key)) for version in releases.versions]
        if any(known[version][question.key].word in _DECISIVE for version in known):
            yield (question.question, *cells)


def _cell(answer: AnsweredQuestion | None) -> str:
    return NOT_MADE if answer is None else f"{MARKS[answer.polarity]} {answer.word}"


def notes(releases: Releases, made: Answers) -> Iterator[str]:
    """Yield what changed, and what the table leaves out."""
    found = [change.said for change in changes(releases.versions, made)]
    yield from found or ["no answer changed"]
    if len(made) < len(releases.versions):
        yield f"{NOT_MADE} no card was made: the releases before and after it answer alike"


def markdown(releases: Releases, made: Answers) -> Iterator[str]:
    """Yield the table, and a line for each note."""
    head, *others = rows(releases, made)
    yield from (row(map(inert, head)), row(["---"] * len(head)), *map(row, others), "")
    yield from (f"- {inert(note)}" for note in notes(releases, made))
