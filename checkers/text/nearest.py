"""The known name that is most similar to an unknown one: "did you mean …?"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 200  # characters; a longer name is no typo, and slow to compare


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` probably means, if any is similar."""
    near = difflib.get_close_matches(name, list(known), n=1) if len(name) <= _LONGEST else []
    return near[0] if near else None
