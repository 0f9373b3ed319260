"""A card as one row of Markdown, and as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers.text.printable import as_json
from harness.card.answers import NO_MOMENT, AnsweredQuestion
from harness.card.plays import PlayResult
from harness.card.seen import Seen
from harness.card.series import Subject
from harness.card.words import MARKS
from harness.files.atomic_files import replace_file
from harness.report.markdown import code, inert, row

MARKDOWN, JSON = "card.md", "card.json"
REPORT = "report.html"
NOT_TESTED = "not tested: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A lock library's card: the row, and the runs behind it."""

    subject: Subject
    engine: str
    began: str  # ISO 8601, UTC
    answers: Sequence[AnsweredQuestion]
    seen: Sequence[Seen]
    played: Sequence[PlayResult] = ()

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the libraries, as the program named them."""
        known = [*(each.versions for each in self.seen), *(each.versions for each in self.played)]
        return {name: version for each in known for name, version in each.items()}


def write(card: Card, folder: Path) -> None:
    """Write both files into a folder; links to the runs are relative to it."""
    replace_file(folder / MARKDOWN, (f"{line}\n" for line in markdown(card, folder)))
    replace_file(folder / JSON, [as_json(document(card, folder)), "\n"])


def markdown(card: Card, folder: Path) -> Iterator[str]:
    """The row as a table, then what was run."""
    subject = card.subject
    heads = ["lock", *(answer.question for answer in card.answers)]
    cells = [inert(subject.name), *(_cell(answer, folder) for answer in card.answers)]
    yield from (row(heads), row(["---"] * len(heads)), row(cells), "")
    versions = "".join(f", {inert(name)} {inert(version)}" for name, version in card.versions.items())
    yield (
        f"{code(subject.command)} with {inert(subject.lock)} as its lock service, {len(card.seen)} runs of"
        f" {inert(subject.duration)}, engine {card.engine}, {card.began}{versions}:"
    )
    yield ""
    for seen in card.seen:
        name = seen.experiment.name
        link = f"[{name}]({_link(seen.folder, folder)})" if seen.folder else name
        yield f"- {link}: {inert(result(seen))}"
    for each in card.played:
        yield f"- {each.play}: {each.word}: {inert(each.said)}"


def document(card: Card, folder: Path) -> dict[str, Any]:
    """The card as plain data; fields may be added, never renamed. Folders are relative to `folder`."""
    subject = card.subject
    return {
        "schema": 1,
        "name": subject.name,
        "command": subject.command,
        "lock": subject.lock,
        "storage": subject.storage,
        "fencing": subject.fencing,
        "engine": card.engine,
        "began": card.began,
        "versions": card.versions,
        "answers": {
            answer.key: {
                "question": answer.question,
                "answer": answer.word,
                "polarity": answer.polarity,
                "said": answer.said,
                "runs": [os.path.relpath(run, folder) for run in answer.runs],
            }
            for answer in card.answers
        },
        "runs": [
            {
                "name": seen.experiment.name,
                "folder": os.path.relpath(seen.folder, folder) if seen.folder else None,
                "verdict": seen.verdict or None,
                "failure": seen.failure or None,
                "anomalies": dict(seen.anomalies),
                "coverage": dict(seen.coverage),
                "finding": _finding(seen),
            }
            for seen in card.seen
        ],
        "plays": {each.play: {"answer": each.word, "said": each.said} for each in card.played},
    }


def result(seen: Seen) -> str:
    """What one run found, in a few words."""
    if seen.failure:
        return f"no verdict: {seen.failure}"
    found = ", ".join(f"{name} ×{count}" for name, count in seen.anomalies.items())
    reasons = "; ".join(_reason(seen, each) for each in seen.reasons)
    return found or (f"{seen.verdict}: {reasons}" if reasons else seen.verdict)


def _reason(seen: Seen, reason: str) -> str:
    """A longer run does not help a program that never reports the moment of the pauses."""
    was_granted = seen.grants_with_token or seen.grants_without_token
    if (
        seen.experiment.at == "granted"
        and was_granted
        and not seen.coverage.get("pauses")
        and reason.startswith(NOT_TESTED)
    ):
        return f"{NOT_TESTED}{NO_MOMENT}"
    return reason


def _finding(seen: Seen) -> dict[str, Any] | None:
    found = seen.finding
    if found is None:
        return None
    return {
        "anomaly": found.anomaly,
        "summary": found.summary,
        "story": list(found.story),
        "steps": list(found.steps),
    }


def _cell(answer: AnsweredQuestion, folder: Path) -> str:
    links = " ".join(f"[{number}]({_link(run, folder)})" for number, run in enumerate(answer.runs, 1))
    return f"{MARKS[answer.polarity]} **{answer.word}**: {inert(answer.said)} {links}".rstrip()


def _link(run: Path, folder: Path) -> str:
    return f"{os.path.relpath(run, folder)}/{REPORT}"
