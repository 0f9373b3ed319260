"""Field types of target and campaign files. Every duration is in ns, or a `Span`; every size in bytes."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ConfigDict, WithJsonSchema

from harness.core.duration import DURATION_PATTERN, SPAN_PATTERN, Span, parse_duration, parse_span
from harness.core.size import SIZE_PATTERN, parse_size

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

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


def at_most(longest: int, shown: str) -> AfterValidator:
    """Allow durations up to a length (ns), which an error shows as a file writes it."""

    def check(duration: int) -> int:
        if duration > longest:
            raise ValueError(f"must be at most {shown}")
        return duration

    return AfterValidator(check)
