"""The types of a target file's settings. Every length of time is in ns, or a `Span` of TTLs."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from checkers.anomalies import COVERAGE
from checkers.records import DEFAULT_REQUIRE
from harness.duration import DURATION_PATTERN, NS, SPAN_PATTERN, Span, parse_duration, parse_span
from harness.target.names import EXPECTABLE, known_anomalies, known_coverage, known_image

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

LONGEST_TTL = NS["h"]
MOST_REQUIRED = 10**9

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
IMAGE_PATTERN = r"^\S+$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
CLASS_PATTERN = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
OWN = "<module:Class>"
"""What stands for the kind of a class of the user's own, among the names of kinds."""
PROGRAM = "client"
"""The kind of whatever the program of [client] uses by itself."""

VICTIM_PATTERN = r"^(holder(:r\d+)?|client:\d+)$"
SERVER_PATTERN = r"^[a-z][a-z0-9-]*$"
SIDES = ("lock", "storage", "both")


def kind_of(section: object) -> str | None:
    """Say by which model a section in kinds is read."""
    kind = section.get("kind") if isinstance(section, dict) else getattr(section, "kind", None)
    return OWN if isinstance(kind, str) and ":" in kind else kind


def _victim(text: str) -> str:
    if not re.match(VICTIM_PATTERN, text):
        raise ValueError('must be "holder", "holder:r0" (of that resource) or "client:0"')
    return text


def _server(text: str) -> str:
    if not re.match(SERVER_PATTERN, text):
        raise ValueError('must be the name of a server, such as "redis-1"')
    return text


def _side(value: object) -> str | tuple[str, ...]:
    """A side of a target, or some servers by their names."""
    if isinstance(value, str) and value in SIDES:
        return value
    if isinstance(value, tuple) and value and all(isinstance(name, str) for name in value):
        return tuple(map(_server, value))
    raise ValueError(
        'must be "lock", "storage", "both", or a list of servers, such as ["redis-4", "redis-5"]'
    )


def _expectation(value: object) -> tuple[str, ...]:
    """`"valid"` is an expectation of no anomaly at all."""
    if value == "valid":
        return ()
    if isinstance(value, tuple) and value and all(isinstance(name, str) for name in value):
        return known_anomalies(value)
    raise ValueError('must be "valid", or a list of what must be found, such as ["stale-write"]')


def _with_default_require(minima: dict[str, int]) -> dict[str, int]:
    return DEFAULT_REQUIRE | minima


NAMES_SCHEMA = {"type": "array", "items": {"enum": list(EXPECTABLE)}, "uniqueItems": True}

Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["2s", "1500ms"]}),
]
Length = Annotated[
    Span,
    BeforeValidator(parse_span),
    WithJsonSchema({"type": "string", "pattern": SPAN_PATTERN, "examples": ["1.5 ttl", "3s"]}),
]
Victim = Annotated[
    str,
    AfterValidator(_victim),
    WithJsonSchema({"type": "string", "pattern": VICTIM_PATTERN, "examples": ["holder", "client:2"]}),
]
ServerName = Annotated[
    str,
    AfterValidator(_server),
    WithJsonSchema({"type": "string", "pattern": SERVER_PATTERN, "examples": ["redis-3"]}),
]
Servers = Annotated[
    str,
    AfterValidator(_server),
    WithJsonSchema({"type": "string", "pattern": SERVER_PATTERN, "examples": ["lock", "storage", "redis-1"]}),
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
Expectation = Annotated[
    tuple[str, ...],
    BeforeValidator(_expectation),
    WithJsonSchema({"anyOf": [{"const": "valid"}, NAMES_SCHEMA | {"minItems": 1}]}),
]
Anomalies = Annotated[tuple[str, ...], AfterValidator(known_anomalies), WithJsonSchema(NAMES_SCHEMA)]
Minima = Annotated[
    dict[Annotated[str, AfterValidator(known_coverage)], Annotated[int, Field(ge=0, le=MOST_REQUIRED)]],
    AfterValidator(_with_default_require),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                name: {"type": "integer", "minimum": 0, "maximum": MOST_REQUIRED, "description": what}
                for name, what in COVERAGE.items()
            },
            "additionalProperties": False,
        }
    ),
]
Image = Annotated[str, Field(pattern=IMAGE_PATTERN), AfterValidator(known_image)]
