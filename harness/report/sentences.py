"""Words that become a sentence of their own."""

from __future__ import annotations


def capitalized(words: str, name: str = "") -> str:
    """Begin with a capital letter, unless the words begin with `name`, which is a user's own."""
    return words if name and words.startswith(name) else words[:1].upper() + words[1:]
