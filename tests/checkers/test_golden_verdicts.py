"""What is found in every history of the tests is what its golden files say.

The facts (verdict, anomalies, accused, proofs, counts) are apart from the words for them.
A file that has changed is read before it is committed: `make golden` writes them.
"""

from __future__ import annotations

import difflib
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.support.generated_histories import GENERATED
from tests.support.golden_verdicts import (
    facts_of,
    line_of_facts,
    mass_of,
    shown,
    sources,
    words_of,
)

SOURCES = sources()
WRITE = "read it, and write it with `make golden`"


def changes(golden: Path, now: str) -> str:
    expected = golden.read_text(encoding="utf-8").splitlines() if golden.exists() else []
    lines = difflib.unified_diff(expected, now.splitlines(), golden.name, "now", lineterm="", n=1)
    return "\n".join(lines)


@pytest.mark.parametrize("name", SOURCES)
def test_facts_and_words_of_a_history_are_those_of_its_golden_files(name: str) -> None:
    verdict = SOURCES[name].judge()

    facts = changes(SOURCES[name].facts, facts_of(verdict))
    words = changes(SOURCES[name].words, words_of(verdict))

    assert not facts, f"the facts of {name} have changed:\n{facts}"
    assert not words, f"the words of {name} have changed, its facts have not:\n{words}\n{WRITE}"


@pytest.mark.parametrize("kind", GENERATED)
def test_the_facts_of_generated_histories_are_those_of_the_golden_file(kind: str) -> None:
    expected = mass_of(kind).read_text(encoding="utf-8").splitlines()
    cases = list(GENERATED[kind].cases(kind))
    found = [line_of_facts(number, case) for number, case in enumerate(cases)]

    differ = [pair for pair in zip_longest(expected, found, fillvalue="nothing") if pair[0] != pair[1]]

    if differ:
        golden, now = differ[0]
        history = shown(cases[int(now.split()[0])]) if now in found else "this history is no longer made"
        pytest.fail(
            f"{kind}: {len(differ)} of {len(found)} histories differ, the first of them is\n{history}\n"
            f"- {golden}\n+ {now}\nthe second words are checksums of the history itself; {WRITE}"
        )


def test_no_golden_file_is_left_of_a_history_that_has_gone() -> None:
    known = {file for source in SOURCES.values() for file in (source.facts, source.words)}
    folders = {file.parent for file in known}
    files = {
        file for folder in folders for end in ("facts.json", "words.txt") for file in folder.glob(f"*.{end}")
    }

    assert files == known
    assert set(mass_of("x").parent.iterdir()) == {mass_of(kind) for kind in GENERATED}
