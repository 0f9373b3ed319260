"""Field types of target and campaign files. Every duration is in ns, or a `Span`; every size in bytes."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from harness.core.duration import DURATION_PATTERN, SPAN_PATTERN, Span, parse_duration, parse_span

BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE_PATTERN = r"^\s*(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)\s*$"
STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)
"""`defer_build`: a command builds only the kinds that its targets name."""


def shown_size(size: int) -> str:
    """Return a size as files write it, in whole megabytes, but at least one."""
    return f"{max(1, round(size / BYTES['MB']))}MB"


def parse_size(text: object) -> int:
    """Parse `"500MB"` to bytes. Raises ValueError with the allowed form."""
    found = re.match(SIZE_PATTERN, text) if isinstance(text, str) else None
    if found is None:
        raise ValueError('must be a size such as "500MB" or "2GB"')
    return round(Decimal(found[1]) * BYTES[found[2]])


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
Size = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": "string", "pattern": SIZE_PATTERN, "examples": ["500MB", "2GB"]}),
]
Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


def at_most(longest: int, shown: str) -> AfterValidator:
    """Allow durations up to a length (ns), which an error shows as a file writes it."""

    def check(duration: int) -> int:
        if duration > longest:
            raise ValueError(f"must be at most {shown}")
        return duration

    return AfterValidator(check)
