"""Words as a sentence or a title."""

from __future__ import annotations


def capitalized(words: str, name: str = "") -> str:
    """Begin with a capital letter, unless the words begin with `name`, which the user chose."""
    return words if name and words.startswith(name) else words[:1].upper() + words[1:]


def count(number: int, thing: str) -> str:
    """How many, such as "1 run" or "3 runs"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def times(number: int) -> str:
    """How often: "never", "once" or "3 times"."""
    return {0: "never", 1: "once"}.get(number, f"{number:,} times")


def title(name: str) -> str:
    """A machine's name for people: `late_writes` is "Late writes"."""
    return capitalized(name.replace("_", " ").replace("-", " "))
