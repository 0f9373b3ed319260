"""The names of shards: "2/5" is the second of five parts of a campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.core.errors import ConfigurationError

MOST = 1000


def parse(name: str) -> tuple[int, int]:
    """Return the number of a shard, and how many there are. Raises ValueError if no shard has this name."""
    number, _, of = name.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= MOST:
        return int(number), int(of)
    raise ValueError(f"{name!r} is not a shard: give its number and how many there are, such as 2/5")


def missing(names: Sequence[str]) -> list[str]:
    """Return the shards that are not among these; "" is the name of a whole night.

    Raises ConfigurationError if these are not parts of one whole.
    """
    if not any(names):
        return []
    try:
        parts = Counter(map(parse, names))
    except ValueError as error:
        raise ConfigurationError(f"these are not shards of one campaign: {error}") from None
    if twice := [f"{number}/{of}" for (number, of), times in parts.items() if times > 1]:
        raise ConfigurationError(f"these are not shards of one campaign: {', '.join(twice)} is there twice")
    totals = {of for _, of in parts}
    if len(totals) > 1:
        raise ConfigurationError(f"these are shards of different campaigns: {', '.join(names)}")
    (of,) = totals
    return [f"{number}/{of}" for number in range(1, of + 1) if (number, of) not in parts]
