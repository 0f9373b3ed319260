"""Field types shared by several faults: victims, and the servers to cut off."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from checkers.hazards import CELLS, Cell, Fate, Hit

OF_HOLDERS = tuple(cell for cell in CELLS if (cell.hit, cell.fate) == (Hit.HOLDER, Fate.DELIVERED))
"""The hazards that a pause of a holder can hit."""

VICTIM_PATTERN = r"^(holder(:r\d+)?|client:\d+)$"
SERVER_PATTERN = r"^[a-z][a-z0-9-]*$"
SERVERS_PATTERN = r"^([a-z][a-z0-9-]*|(lock|storage):leader)$"
MEMBER_PATTERN = r"^((lock|storage):leader|[a-z][a-z0-9]*-[a-z0-9-]+)$"
SIDES = ("lock", "storage", "both")


def _victim(text: str) -> str:
    if not re.match(VICTIM_PATTERN, text):
        raise ValueError('must be "holder", "holder:r0" (of that resource) or "client:0"')
    return text


def is_victim(text: str) -> bool:
    """Does a target name a client? Otherwise it names servers."""
    return re.match(VICTIM_PATTERN, text) is not None


def _victim_or_servers(text: str) -> str:
    if not is_victim(text) and (not re.match(SERVERS_PATTERN, text) or text in ("holder", "client")):
        raise ValueError(
            'must be a client ("holder", "holder:r0" or "client:0") or servers ("lock", "lock:leader" or '
            'a name such as "redis-1")'
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


def _hazards(value: object) -> str | tuple[str, ...]:
    """Parse "all" or a list of hazards; their names may be short."""
    if value == "all":
        return "all"
    if not (isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)):
        raise ValueError('must be "all", or a list of hazards, such as ["write-sent/superseded"]')
    cells = [Cell.named(name) for name in value]
    if wrong := [str(cell) for cell in cells if cell not in OF_HOLDERS]:
        raise ValueError(f"{wrong[0]} is no hazard that a pause of a holder can hit")
    return tuple(dict.fromkeys(map(str, cells)))


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
    AfterValidator(_victim_or_servers),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"pattern": VICTIM_PATTERN}, {"pattern": SERVERS_PATTERN}],
            "examples": ["holder", "lock", "lock:leader", "postgres"],
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
Hazards = Annotated[
    Literal["all"] | tuple[str, ...],
    BeforeValidator(_hazards),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "all"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
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
