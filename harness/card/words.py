"""The words of a card's answers, and which of them are good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Word = Literal["yes", "no", "none", "not shown"]
Polarity = Literal["good", "bad", "open"]
MARKS: Mapping[Polarity, str] = {"good": "✓", "bad": "✗", "open": "○"}
_USUAL: Mapping[Word, Polarity] = {"yes": "good", "no": "bad"}
_OF: Mapping[str, Mapping[Word, Polarity]] = {
    "lost_while_paused": {"yes": "bad", "no": "good"},
    "token": {"yes": "good", "none": "bad"},
    "safe_with_fence": {"yes": "good", "no": "bad", "none": "bad"},
    "renewed_while_held": {"yes": "good"},  # a lease that ends in time is as promised
    "taken_again_silently": {"yes": "bad", "no": "good"},
    "first_come_first_served": {"yes": "good"},
}


def polarity(key: str, word: Word) -> Polarity:
    """Is an answer to a question good or bad for those who rely on the lock? Open, if it is neither."""
    return _OF.get(key, _USUAL).get(word, "open")
