"""The two terms in the first lines of an answer, each explained in a clause."""

from __future__ import annotations

import re

_STALE_WRITE = "a write is stale if the storage has already accepted a newer token"
_STALE_WITHOUT_TOKENS = "a write is stale if a later holder of the lock has already written"
_NUMBER = "a token is a number that grows with each grant of the lock"
_SAYS_STALE = re.compile(r"\bstale writes?\b")
_SAYS_TOKEN = re.compile(r"\btokens?\b")


def glossary(said: str, *, by_tokens: bool = True) -> str:
    """Explain the terms that a text uses; empty if it uses none. Not `by_tokens`: the lock gives none."""
    if _SAYS_STALE.search(said) and not by_tokens:
        return _STALE_WITHOUT_TOKENS
    if _SAYS_STALE.search(said):
        return f"{_STALE_WRITE}; {_NUMBER}"
    return _NUMBER if _SAYS_TOKEN.search(said) else ""
