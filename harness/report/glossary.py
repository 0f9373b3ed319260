"""The two terms in the first lines of an answer, each explained in a clause."""

from __future__ import annotations

import re

_STALE_WRITE = "a write is stale if the storage has already accepted a newer token"
_NUMBER = "a token is a number that grows with each grant of the lock"
_SAYS_STALE = re.compile(r"\bstale writes?\b")
_SAYS_TOKEN = re.compile(r"\btokens?\b")


def glossary(said: str) -> str:
    """Explain the terms that a text uses; empty if it uses none."""
    if _SAYS_STALE.search(said):
        return f"{_STALE_WRITE}; {_NUMBER}"
    return _NUMBER if _SAYS_TOKEN.search(said) else ""
