"""The roles of operations, of which fingerprints are made."""

from __future__ import annotations

import pytest

from checkers.explain.roles import roles
from tests.support.brute_force import read, write


@pytest.mark.parametrize("token", [3, 7])
def test_a_wrong_token_has_one_shape_whether_it_is_too_high_or_too_low(token: int) -> None:
    written = write(0, 5, 0, 1)
    found = read(1, (str(written.value), token), 2, 3)

    assert roles(found, [written]) == ("read", "write")


def test_an_older_value_is_older_than_the_one_that_had_replaced_it() -> None:
    old, new = write(0, 3, 0, 1), write(1, 5, 2, 3)
    found = read(2, (str(old.value), 3), 4, 5)

    assert roles(found, [old, new]) == ("read", "equal write", "newer write")
