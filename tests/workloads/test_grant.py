"""What a user's class may grant is checked where it grants it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from workloads.client import Grant

SECOND = 1_000_000_000  # ns


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("token", "1"),
        ("token", True),
        ("token", -1),
        ("ttl", 1.5),
        ("ttl", -SECOND),
        ("attempt", 0.5),
    ],
)
def test_a_grant_of_a_wrong_type_names_its_field(field: str, value: Any) -> None:
    fields: dict[str, Any] = {"token": 1, "ttl": SECOND, "attempt": 0}

    with pytest.raises(TypeError, match=rf"Grant\({field}={value}|Grant\({field}='1'"):
        Grant(**fields | {field: value})


def test_a_grant_was_not_asked_for_in_the_future() -> None:
    with pytest.raises(ValueError, match=r"it is a time\.monotonic_ns\(\)"):
        Grant(token=1, ttl=SECOND, attempt=time.time_ns() + time.monotonic_ns())


def test_a_grant_may_lack_each_field() -> None:
    assert Grant(token=None, ttl=None, attempt=None) == Grant(token=None, ttl=None, attempt=None)
