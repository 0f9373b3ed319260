"""Sizes, as campaign files write them."""

import pytest

from harness.core.fields import parse_size


@pytest.mark.parametrize(
    ("text", "size"), [("0B", 0), ("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("2kB", 2000)]
)
def test_a_size_is_a_number_of_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "MB", "-1MB", "1 mb", "1MiB", 500, None])
def test_anything_else_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match='must be a size such as "500MB"'):
        parse_size(text)
