"""Field types shared by several faults: victims, and the servers to cut off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from checkers.vocabulary.hazards import CELLS, Cell, Hit, fate_of

WAITER = "waiter"  # a client that waits for the lock of a holder


def of_pauses(target: str) -> tuple[Cell, ...]:
    """Return the hazards that a pause of a target can hit; none if it is not known whom that hits."""
    hit = _HIT.get(target.partition(":")[0])
    return tuple(
        cell for cell in CELLS if cell.hit is hit and cell.fate is fate_of("pause", target, cell.end)
    )


_HIT = {"holder": Hit.HOLDER, WAITER: Hit.WAITER, "lock": Hit.LOCK, "storage": Hit.STORAGE}
AIMED_AT = tuple(_HIT)
"""The targets of a fault that aims at hazards."""

VICTIM_PATTERN = r"^(holder(:r\d+)?|client:\d+)$"
SERVER_PATTERN = r"^[a-z][a-z0-9-]*$"
SERVERS_PATTERN = r"^([a-z][a-z0-9-]*|(lock|storage):leader)$"
MEMBER_PATTERN = r"^((lock|storage):leader|[a-z][a-z0-9]*-[a-z0-9-]+)$"
RATE_PATTERN = r"^([0-9]{1,6})\s*KB/s$"
BETWEEN = ", "  # the names of several servers in one target
SIDES = ("lock", "storage", "both")


def raise_all(wrong: Sequence[str]) -> None:
    """Raise one ValueError for all errors of a section, if there are any."""
    if wrong:
        raise ValueError("; ".join(wrong))


def _victim(text: str) -> str:
    if not re.match(VICTIM_PATTERN, text):
        raise ValueError('must be "holder", "holder:r0" (of that resource) or "client:0"')
    return text


def is_victim(text: str) -> bool:
    """Does a target name a holder or a client?"""
    return re.match(VICTIM_PATTERN, text) is not None


def names_in(target: str) -> tuple[str, ...]:
    """Return the sides or servers that a target names."""
    return tuple(target.split(BETWEEN))


def _joined(value: object) -> object:
    """Join a list of servers into one target."""
    if isinstance(value, tuple) and value and all(isinstance(name, str) for name in value):
        return BETWEEN.join(dict.fromkeys(value))
    return value


def _victim_or_servers(text: str) -> str:
    several = names_in(text)
    pattern, wrong = (SERVERS_PATTERN, ()) if len(several) == 1 else (SERVER_PATTERN, SIDES)
    fits = all(re.match(pattern, name) and name not in ("holder", "client", *wrong) for name in several)
    if not is_victim(text) and not fits:
        raise ValueError(
            'must be a client ("holder", "holder:r0" or "client:0") or servers ("lock", "lock:leader", '
            'a name such as "redis-1", or a list of names)'
        )
    return text


def _victim_or_member(text: str) -> str:
    if not is_victim(text) and not re.match(MEMBER_PATTERN, text):
        raise ValueError(
            'must be a client ("holder", "holder:r0" or "client:0") or a member of a cluster ("lock:leader" '
            'or a name such as "etcd-2")'
        )
    return text


def _server(text: str) -> str:
    if not re.match(SERVER_PATTERN, text):
        raise ValueError('must be the name of a server, such as "redis-1"')
    return text


def _side(value: object) -> str | tuple[str, ...]:
    """Parse a side of a target, or a list of server names."""
    if isinstance(value, str) and value in SIDES:
        return value
    if isinstance(value, tuple) and value and all(isinstance(name, str) for name in value):
        return tuple(map(_server, value))
    raise ValueError(
        'must be "lock", "storage", "both", or a list of servers, such as ["redis-4", "redis-5"]'
    )


def _rate(value: object) -> int:
    """Parse "10KB/s" to KB/s."""
    found = re.match(RATE_PATTERN, value) if isinstance(value, str) else None
    if not found or not int(found[1]):
        raise ValueError('must be a whole number of kilobytes a second, such as "10KB/s"')
    return int(found[1])


def _hazards(value: object) -> str | tuple[str, ...]:
    """Parse "all" or a list of hazards; their names may be short."""
    if value == "all":
        return "all"
    if not (isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)):
        raise ValueError(
            'must be "all", or a list of hazards (see docs/hazards.md), such as ["write-sent/superseded"]'
        )
    return tuple(dict.fromkeys(str(Cell.named(name)) for name in value))


def named_servers(side: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the sides or servers that a side names."""
    if side == "both":
        return ("lock", "storage")
    return (side,) if isinstance(side, str) else side


Victim = Annotated[
    str,
    AfterValidator(_victim),
    WithJsonSchema({"type": "string", "pattern": VICTIM_PATTERN, "examples": ["holder", "client:2"]}),
]
Servers = Annotated[
    str,
    AfterValidator(_server),
    WithJsonSchema({"type": "string", "pattern": SERVER_PATTERN, "examples": ["lock", "storage", "redis-1"]}),
]
VictimOrServers = Annotated[
    str,
    BeforeValidator(_joined),
    AfterValidator(_victim_or_servers),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": VICTIM_PATTERN},
                {"type": "string", "pattern": SERVERS_PATTERN},
                {"type": "array", "items": {"type": "string", "pattern": SERVER_PATTERN}, "minItems": 1},
            ],
            "examples": ["holder", "lock", "lock:leader", "postgres", ["etcd-1", "etcd-2"]],
        }
    ),
]
VictimOrMember = Annotated[
    str,
    AfterValidator(_victim_or_member),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"pattern": VICTIM_PATTERN}, {"pattern": MEMBER_PATTERN}],
            "examples": ["holder", "lock:leader", "etcd-2"],
        }
    ),
]
Rate = Annotated[
    int,
    BeforeValidator(_rate),
    WithJsonSchema({"type": "string", "pattern": RATE_PATTERN, "examples": ["10KB/s"]}),
]
Hazards = Annotated[
    Literal["all"] | tuple[str, ...],
    BeforeValidator(_hazards),
    WithJsonSchema(
        {"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
    ),
]
Side = Annotated[
    str | tuple[str, ...],
    BeforeValidator(_side),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(SIDES)},
                {"type": "array", "items": {"type": "string", "pattern": SERVER_PATTERN}, "minItems": 1},
            ]
        }
    ),
]
