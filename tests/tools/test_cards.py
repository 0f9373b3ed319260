"""The page of the cards of lock libraries: made from their records, and counted."""

from __future__ import annotations

import tomllib
from typing import Any

from tools.cards import LOCKS, PAGE, counts, page


def test_the_page_of_the_cards_is_what_their_records_say() -> None:
    libraries = tomllib.loads((LOCKS / "libraries.toml").read_text(encoding="utf-8"))["library"]

    assert PAGE.read_text(encoding="utf-8") == "".join(page(libraries))


def test_a_count_leaves_out_locks_that_showed_no_answer() -> None:
    def card(word: str) -> dict[str, Any]:
        return {"first_come_first_served": {"answer": word}}

    said = counts([card("yes"), card("yes"), card("no"), card("not shown"), {}])

    assert said.endswith(", and 2 of 3 served their clients in order in all rounds.")
    assert said.startswith("Of the locks that showed an answer, 0 of 0 kept a lock")
