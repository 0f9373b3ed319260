"""What is found in every history of the tests is what its golden files say.

The facts (verdict, anomalies, accused, proofs, causes, counts) are apart from the words for them.
A file that has changed is read before it is committed: `make golden` writes them.
"""

from __future__ import annotations

import re
from itertools import zip_longest

import pytest

from tests.support.generated_histories import GENERATED
from tests.support.golden_verdicts import HISTORIES, facts_of, line_of_facts, mass_of, shown, sources
from tests.support.golden_words import (
    FILES,
    WRITE,
    changes,
    form,
    read_sections,
    read_words,
    seen_above,
    words_file,
    words_of,
)

SOURCES = sources()
WORDS = read_words()
FOUND = re.compile(r"[a-z-]+ (\d+) \[([\d,]*)\]")


@pytest.mark.parametrize("name", SOURCES)
def test_facts_and_words_of_a_history_are_those_of_its_golden_files(name: str) -> None:
    verdict = SOURCES[name].judge()
    golden = SOURCES[name].facts
    expected = golden.read_text(encoding="utf-8") if golden.exists() else ""

    facts = changes(expected.splitlines(), facts_of(verdict).splitlines())
    words = changes(WORDS.get(name, ()), words_of(verdict, seen_above(name, WORDS, SOURCES)))

    assert not facts, f"the facts of {name} have changed:\n{facts}"
    assert not words, f"the words of {name} have changed, its facts have not:\n{words}\n{WRITE}"


def test_every_proof_has_the_operation_that_its_finding_accuses() -> None:
    """A line: number, checksum, word | anomaly accused [proof]; … | …"""
    lines = [line for kind in GENERATED for line in mass_of(kind).read_text(encoding="utf-8").splitlines()]
    found = [each for line in lines for each in FOUND.findall(line.split(" | ")[1])]

    assert found
    assert not [accused for accused, proof in found if accused not in proof.split(",")]


@pytest.mark.slow
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
    facts = set(HISTORIES.rglob("*.facts.json"))

    assert facts == {source.facts for source in SOURCES.values()}
    assert set(mass_of("x").parent.iterdir()) == {mass_of(kind) for kind in GENERATED}
    assert set(HISTORIES.rglob("*words.txt")) == set(FILES)
    assert list(WORDS) == [name for name in SOURCES if name in WORDS]
    assert all(name in read_sections(words_file(name)) for name in WORDS)


def test_sentences_of_one_form_differ_in_their_numbers_only() -> None:
    sentence = "- Then client 12 wrote '12-7.0' at 0.5 s (line 9)."

    assert form(sentence) == form("- Then client 0 wrote '1-22.13' at 10.125 s (line 1234).")
    assert form(sentence) != form("- Then process 0 wrote '1-22.13' at 10.125 s (line 1234).")
