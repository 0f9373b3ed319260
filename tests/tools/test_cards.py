"""The page of the cards of lock libraries: made from their records, and counted."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tools.cards import LOCKS, PAGE, counts, is_best, page


def test_the_page_of_the_cards_is_what_their_records_say() -> None:
    libraries = tomllib.loads((LOCKS / "libraries.toml").read_text(encoding="utf-8"))["library"]

    assert PAGE.read_text(encoding="utf-8") == "".join(page(libraries))


def test_a_count_leaves_out_locks_that_showed_no_answer() -> None:
    def card(word: str) -> dict[str, Any]:
        return {"first_come_first_served": {"answer": word}}

    said = counts([card("yes"), card("yes"), card("no"), card("not shown"), {}])

    assert said.endswith(", and 2 of 3 served waiting clients in order in all rounds.")
    assert said.startswith("Of the locks that showed an answer, 0 of 0 kept a lock")


@pytest.mark.parametrize(
    ("lost", "token", "fenced", "best"),
    [
        ("yes", "yes", "yes", True),
        ("no", "yes", "yes", True),
        ("yes", "yes", "not shown", False),
        ("yes", "none", "yes", False),
    ],
)
def test_the_best_locks_lose_nothing_but_a_paused_holders_lock(
    lost: str, token: str, fenced: str, *, best: bool
) -> None:
    said = {"lost_while_paused": lost, "token": token, "safe_with_fence": fenced}

    assert is_best({key: {"answer": word} for key, word in said.items()}) == best
