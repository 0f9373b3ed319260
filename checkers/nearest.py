"""The known name that is nearest to one that is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 200  # characters; a longer one is no slip of the keyboard, and would take its time


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody who wrote `name` may have meant."""
    near = difflib.get_close_matches(name, list(known), n=1) if len(name) <= _LONGEST else []
    return near[0] if near else None
