"""Make the cards of `examples/locks/libraries.toml`, and write docs/libraries.md from them.

Each library's series is run twice, and the page says if the two gave other answers: it then shows
the series with more answers "no". What was seen is kept in docs/cards, one file a library, so that
one can be made again alone, and of each series one run:

    make cards NAMES="kazoo-lock-czxid"
    make cards NAMES="kazoo-lock-czxid" RUN=restart
    make cards NAMES="kazoo-lock-czxid" RUN=plays

A library with `releases` also gets a table of its releases, from the plays alone.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.card.plays import LONGER, PLAYS
from harness.card.series import series
from harness.card.words import MARKS, polarity
from tools.known_bugs import commit

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "examples/locks"
CARDS = ROOT / "docs/cards"
PAGE = ROOT / "docs/libraries.md"
SERIES = 2
_ONLY_PLAYS = [word for name in PLAYS for word in ("--only", name)]
WITH_A_LOSS = "pause-before-write-unfenced"
"""Shows whether a release of a lost lock is refused, on which those answers rest."""

HEAD = (
    "# Cards of lock libraries\n\n"
    "Fencepost ran [a fixed series](adapters.md#the-card-of-a-library) against each of these lock libraries"
    " as it is, on servers that Fencepost started, with the adapters of"
    " [examples/locks](../examples/locks/README.md). A cell says what these runs showed, and no more: ✓ is"
    " good, ✗ is bad, ○ is neither, or open. A lock that calls itself advisory is not blamed for"
    " being so.\n\n"
    "Whether a lock tells its holder is judged by its answers to a release, not by listeners that it may"
    " have. In no run do two threads share one lock object. Where renewal is an option, it is off unless the"
    " name of the card says otherwise. Only an adapter that knows [reenter](adapters.md#reenter) takes a lock"
    " twice. A lock without a token has no run with a fence. –: not asked. `make cards` makes this page;"
    " [card --versions](adapters.md#which-release-changed-an-answer) shows which release changed an"
    " answer.\n\n"
)

COUNTED = {
    "renewed_while_held": f"kept a lock that was held for {LONGER} leases",
    "refuses_foreign_release": "refused each release by a client that did not hold the lock",
    "tells_its_holder": "refused every release of a lock that was lost",
    "taken_again_silently": "took a lost lock again by themselves",
    "first_come_first_served": "served waiting clients in order in all rounds",
}
"""What the locks did whose answer to a question is "yes"."""


def main(names: Sequence[str], run: str = "") -> None:
    """Make the cards of these libraries, or of all, and the page of all that were ever made.

    With `run`, make only this run of each series again, one that answers a question by itself, or the plays.
    """
    libraries = tomllib.loads((LOCKS / "libraries.toml").read_text())["library"]
    for library in libraries:
        if not names or slug(library["name"]) in names:
            for step in library.get("build", ()):
                subprocess.run(shlex.split(step), cwd=LOCKS / library["folder"], check=True)
            CARDS.mkdir(exist_ok=True)
            file = CARDS / f"{slug(library['name'])}.json"
            before = json.loads(file.read_text()) if run else [{}] * SERIES
            if run == "plays":
                made = [before[0] | _played(library, before[0]), *map(_without_plays, before[1:])]
            else:
                cards = [_again(library, card, run) if run else _card(library) for card in before]
                made = sorted(cards, key=_noes, reverse=True)
            file.write_text(f"{json.dumps(made, indent=1)}\n")
            if "releases" in library:
                by_release = _by_release(library)
                (CARDS / f"{slug(library['name'])}-releases.json").write_text(
                    f"{json.dumps(by_release, indent=1)}\n"
                )
            PAGE.write_text("".join(page(libraries)))


def slug(name: str) -> str:
    """A library's name in names of files and runs: "kazoo Lock, czxid" is kazoo-lock-czxid."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def anchor(name: str) -> str:
    """The anchor of a heading, as GitHub makes it: punctuation is left out."""
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def _again(library: dict[str, Any], card: dict[str, Any], name: str) -> dict[str, Any]:
    """Make one run of a series again; return the card with what it showed now."""
    made = _card(library, "--only", name, "--only", WITH_A_LOSS)
    others = [each for each in card["runs"] if each["name"] != name]
    runs = [*others, *(each | {"began": made["began"]} for each in made["runs"] if each["name"] == name)]
    (key,) = (each.question for each in series(library["lock"]) if each.name == name)
    answers = card["answers"] | {key: made["answers"][key]}
    return card | {"runs": runs, "answers": {key: answers[key] for key in made["answers"]}}


def _played(library: dict[str, Any], card: dict[str, Any]) -> dict[str, Any]:
    """Make the plays again; return what they change in a card."""
    made = _card(library, *_ONLY_PLAYS)
    answers = card["answers"] | {key: made["answers"][key] for key, _play in PLAYS.values()}
    return {"plays": made["plays"], "plays_began": made["began"], "answers": answers}


def _without_plays(card: dict[str, Any]) -> dict[str, Any]:
    """A card without its plays, which may have been others than today's."""
    of_plays = {key for key, _play in PLAYS.values()}
    answers = {key: answer for key, answer in card["answers"].items() if key not in of_plays}
    return {key: card[key] for key in card if not key.startswith("plays")} | {"answers": answers}


def _card(library: dict[str, Any], *options: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cards:
        done = subprocess.run(
            [*_words(library), *options, "--format", "json", "--cards", cards],
            cwd=LOCKS / library["folder"],
            check=False,
            stdout=subprocess.PIPE,
        )
    if not done.stdout:
        sys.exit(done.returncode)
    return _kept(json.loads(done.stdout)) | {"commit": commit()}


def _kept(card: dict[str, Any]) -> dict[str, Any]:
    """Return a card without the folders that are gone."""
    for run in card["runs"]:
        del run["folder"], run["coverage"]
    for answer in card["answers"].values():
        answer["runs"] = [Path(run).parts[1] for run in answer["runs"]]
    return card


def _by_release(library: dict[str, Any]) -> dict[str, Any]:
    """Make the plays of the releases that tell which one changed an answer."""
    with tempfile.TemporaryDirectory() as cards:
        options = [*_ONLY_PLAYS, "--versions", library["releases"], "--install", library["install"]]
        done = subprocess.run(
            [
                *_words(library | {"command": library["installed"]}),
                *options,
                "--format=json",
                "--cards",
                cards,
            ],
            cwd=LOCKS / library["folder"],
            check=True,
            stdout=subprocess.PIPE,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    for card in found["cards"].values():
        del card["folder"]
        _kept(card)
    return found | {"commit": commit()}


def _words(library: dict[str, Any]) -> list[str]:
    fencepost = str(Path(sys.executable).with_name("fencepost"))
    options = ["--no-token"] * (not library.get("token", True))
    options += [f"--set={each}" for each in library.get("set", ())]
    return [
        fencepost,
        "card",
        "--lock",
        library["lock"],
        "--name",
        slug(library["name"]),
        *options,
        library["command"],
    ]


def page(libraries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """docs/libraries.md, from the files in docs/cards."""
    cards = {
        library["name"]: json.loads(file.read_text())
        for library in libraries
        if (file := CARDS / f"{slug(library['name'])}.json").exists()
    }
    questions = {
        key: answer["question"] for each in cards.values() for key, answer in each[0]["answers"].items()
    }
    yield HEAD
    yield f"{counts([made[0]['answers'] for made in cards.values()])}\n\n"
    links = (f"[{name}](#{anchor(name)})" for name, made in cards.items() if is_best(made[0]["answers"]))
    yield (
        "A lock with a lease is lost while its holder is paused for longer: that is what a fence is for. With"
        f" one, nothing else that is bad was seen of these: {'; '.join(links)}.\n\n"
    )
    yield _row(["lock", "version", *questions.values()])
    yield _row(["---"] * (len(questions) + 2))
    for library in libraries:
        if made := cards.get(library["name"]):
            cells = [_cell(key, made[0]["answers"].get(key)) for key in questions]
            yield _row([f"[{library['name']}](#{anchor(library['name'])})", _versions(made[0]), *cells])
    for library in libraries:
        if made := cards.get(library["name"]):
            yield from _section(library, made)


def _cell(key: str, answer: dict[str, Any] | None) -> str:
    if answer is None:
        return "–"
    return f"{MARKS[polarity(key, answer['answer'])]} **{answer['answer']}**: {answer['said']}"


def is_best(answers: dict[str, Any]) -> bool:
    """Is a lock safe with a fence, with no bad answer but that a paused holder loses it?"""
    bad = {key for key, answer in answers.items() if polarity(key, answer["answer"]) == "bad"}
    return bad <= {"lost_while_paused"} and answers["safe_with_fence"]["answer"] == "yes"


def counts(cards: Sequence[dict[str, Any]]) -> str:
    """How many locks did what is counted, of those that showed it or its opposite."""
    shown = {key: Counter(card[key]["answer"] for card in cards if key in card) for key in COUNTED}
    *others, last = (
        f"{shown[key]['yes']} of {shown[key]['yes'] + shown[key]['no']} {did}" for key, did in COUNTED.items()
    )
    return f"Of the locks that showed an answer, {', '.join(others)}, and {last}."


def _noes(card: dict[str, Any]) -> int:
    """How many answers of a series are "no": what one series found is true, also if another missed it."""
    return sum(answer["answer"] == "no" for answer in card["answers"].values())


def _section(library: dict[str, Any], made: Sequence[dict[str, Any]]) -> Iterator[str]:
    card = made[0]
    command = shlex.join(["fencepost", *_words(library)[1:]])
    yield f"\n## {library['name']}\n\n"
    yield f"Recommended fence: {library['fence']}\n\n"
    by = f"commit `{card['commit']}`; " if "commit" in card else ""
    made_when = f"{card['began']}; {by}engine {card['engine']}"
    yield f"{_versions(card)}; {made_when}. {_agreement(made)} To repeat it:\n\n"
    yield f"```sh\ncd {(LOCKS / library['folder']).resolve().relative_to(ROOT)}\n"
    yield "".join(f"{step}\n" for step in library.get("build", ()))
    yield f"{command}\n```\n\n"
    for run in card["runs"]:
        found = ", ".join(f"{name} ×{count}" for name, count in run["anomalies"].items())
        later = f" ({run['began']})" if "began" in run else ""
        yield f"- {run['name']}: {found or run['failure'] or run['verdict']}{later}\n"
    for play, found in card.get("plays", {}).items():
        later = f" ({card['plays_began']})" if "plays_began" in card else ""
        yield f"- {play}: {found['answer']}: {found['said']}{later}\n"
    releases = CARDS / f"{slug(library['name'])}-releases.json"
    if releases.exists():
        yield from _table_of_releases(json.loads(releases.read_text()))
        yield f"\n{library['why']}\n" if "why" in library else ""
    if finding := next((run["finding"] for run in card["runs"] if run["finding"]), None):
        yield f"\nThe first finding, {finding['anomaly']}: {finding['summary']}\n\n"
        yield "".join(f"{number}. {step}\n" for number, step in enumerate(finding["steps"], 1))


def _table_of_releases(found: dict[str, Any]) -> Iterator[str]:
    head, *others = found["table"]
    yield f"\nThe plays with its releases, {found['made']}, by commit `{found['commit']}`:\n\n"
    yield from map(_row, (head, ["---"] * len(head), *others))
    yield "".join(["\n", *(f"- {note}\n" for note in found["notes"])])


def _agreement(made: Sequence[dict[str, Any]]) -> str:
    if len(made) == 1:
        return "One series."
    words = [{key: answer["answer"] for key, answer in card["answers"].items()} for card in made]
    known = set.intersection(*(set(each) for each in words))
    other = [
        key.replace("_", " ") for key in words[0] if key in known and len({each[key] for each in words}) > 1
    ]
    if not other:
        return f"{len(made)} series gave the same answers."
    return f"{len(made)} series differed in: {', '.join(other)}."


def _versions(card: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in card["versions"].items())


def _row(cells: Sequence[str]) -> str:
    shown = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |\n"


if __name__ == "__main__":
    main(sys.argv[1:], os.environ.get("RUN", ""))
