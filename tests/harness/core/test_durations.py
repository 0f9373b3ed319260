"""Durations, spans and sizes: parsed, formatted and refused."""

from __future__ import annotations

import pytest

from harness.core.duration import NS, Span, format_duration, parse_duration, parse_span
from harness.core.size import parse_size

SECOND = NS["s"]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2s", 2 * SECOND),
        ("1500ms", 1_500_000_000),
        ("2m", 120 * SECOND),
        ("0.5 s", SECOND // 2),
        ("7us", 7_000),
    ],
)
def test_a_duration_is_read_as_nanoseconds(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("wrong", ["2", "", "s", "-1s", "2 ttl", "1e3s", "0s", 2, None, "2 s 3 ms"])
def test_an_invalid_duration_is_refused_with_an_example(wrong: int | str | None) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_duration(wrong)


def test_a_span_counted_in_ttls_follows_the_ttl() -> None:
    assert parse_span("1.5 ttl").resolve(2 * SECOND) == 3 * SECOND
    assert parse_span("3s").resolve(2 * SECOND) == 3 * SECOND
    assert parse_span("2ttl") == Span(ttls=2.0)


@pytest.mark.parametrize("text", ["2s", "1.5s", "20ms", "3us", "7ns", "120s"])
def test_a_duration_is_formatted_for_people(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(
    ("text", "size"), [("0B", 0), ("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("2kB", 2000)]
)
def test_a_size_is_a_number_of_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "MB", "-1MB", "1 mb", "1MiB", 500, None])
def test_anything_else_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match='must be a size such as "500MB"'):
        parse_size(text)
