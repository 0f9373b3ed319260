"""Locks that do not go over: what else was measured stays."""

from typing import Any

import pytest

from harness.bench.hand_over import NotGrantedError, granted_in
from harness.bench.latencies import Latencies
from harness.bench.orders import Measured


def measured(error: str = "", **moments: int) -> Any:
    return Measured(latencies={"acquire": Latencies(failed=1, error=error)}, moments=moments)


def test_the_moment_of_a_grant_is_that_of_the_waiter() -> None:
    assert granted_in(measured(granted=17)) == 17


def test_a_lock_that_does_not_go_over_says_why() -> None:
    with pytest.raises(
        NotGrantedError, match="did not go to the client that waited for it: not free in time"
    ):
        granted_in(measured("not free in time"))
