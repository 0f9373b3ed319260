"""What a fast reader leaves to a more careful one."""

from __future__ import annotations

import numpy as np


class IrregularError(Exception):
    """The lines may be sound or wrong: a more careful reader has to look at them."""


def require(regular: bool | np.bool_) -> None:  # noqa: FBT001 - it reads as an assertion
    """Raise IrregularError if it is not so."""
    if not regular:
        raise IrregularError
