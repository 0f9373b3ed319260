"""Hostile text in every word of a stranger, read by every command: nothing of it comes through."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzing import campaign
from fuzzing.hostile.outputs import READERS
from fuzzing.hostile.text import harmless, one_turn, words_of
from tests.support.selection import nightly, slow

SEED = 20261126
QUICK, SLOW = "verdict", "run"


@pytest.mark.parametrize("reader", [QUICK, *slow(SLOW), *nightly(*sorted(READERS.keys() - {QUICK, SLOW}))])
def test_nothing_of_a_hostile_text_comes_through(reader: str, tmp_path: Path) -> None:
    with campaign.warm([]) as scratch:
        harmless(reader)
        tally = campaign.Tally()
        trial = campaign.Trial(scratch, tmp_path, tally)
        for case in one_turn(SEED):
            if case.reader == reader:
                trial("hostile-text", case)

    assert tally.findings == []
    assert tally.cases.total() > 0


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_has_all_its_outputs_without_a_hostile_text(reader: str) -> None:
    with campaign.warm([]):
        outputs = harmless(reader)

    assert outputs
    assert all(output.text for output in outputs.values())


def test_one_turn_has_every_word_of_every_reader() -> None:
    cases = one_turn(SEED)

    asked = {(case.reader, word) for case in cases for word in case.words}
    assert asked == {(reader, word) for reader, (subject, _) in READERS.items() for word in words_of(subject)}
    assert len(cases) >= 200
