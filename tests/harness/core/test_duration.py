"""Durations and spans, as target files write them."""

import pytest

from harness.core.duration import NS, Span, format_duration, parse_duration, parse_span

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
