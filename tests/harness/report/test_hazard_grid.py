"""The hazards of a run as tables of its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import End, HazardTable
from harness import report
from harness.report.hazard_grid import ENDS, HazardRow, hazards, in_words
from tests.support.report_folder import run_folder, text_of

SEEN = HazardsDocument(
    hit={"before-write/superseded/holder": 3, "write-sent/expired/storage/lost": 1},
    missed=["before-write/expired/holder"],
    possible=2,
)
TABLE = HazardTable(
    possible=["before-write/expired/holder", "before-write/superseded/holder"],
    impossible={"no fault of this target hits the storage": ["*/*/storage"]},
)


def test_a_cell_is_a_count_or_missed_or_impossible() -> None:
    shown = hazards(SEEN, TABLE)

    assert shown is not None
    assert [grid.title for grid in shown.grids] == [
        "Faults on the holder of the lock",
        "Faults on the storage, messages lost",
    ]
    assert shown.grids[0].rows == (HazardRow("before its write", (None, 0, None, 3)),)
    assert shown.impossible == (("No fault of this target hits the storage", ("Faults on the storage",)),)
    assert len(ENDS) == len(End)


def test_a_cell_that_was_hit_is_not_listed_as_impossible() -> None:
    never = "no fault of this target ends then"
    cells = ["write-sent/expired/storage/lost", "write-sent/regranted/storage/lost"]

    shown = hazards(SEEN, HazardTable(impossible={never: cells}))

    assert shown is not None
    assert shown.impossible == (("No fault of this target ends then", (in_words(cells[1]),)),)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("*/*/waiter", "Faults on a client that waited for the lock"),
        (
            "*/expired/lock/delayed",
            "Faults on the lock service, ended once the lease had expired, messages delayed",
        ),
        (
            "before-write/superseded/holder/lost",
            (
                "Faults on the holder of the lock, begun before its write,"
                " ended once another client had written, messages lost"
            ),
        ),
    ],
)
def test_a_moment_that_cannot_happen_is_said_in_words(pattern: str, words: str) -> None:
    assert in_words(pattern) == words


def test_a_run_that_endangered_no_lock_has_no_such_tables() -> None:
    assert hazards(None, None) is None


def test_a_page_has_the_tables(tmp_path: Path) -> None:
    seen = {"hit": SEEN.hit, "missed": SEEN.missed, "possible": SEEN.possible}

    page = text_of(report.write(run_folder(tmp_path, hazards=seen)))

    assert "1 of 2 dangerous moments tried." in page
    assert "before its write – – – 3 times" in page
