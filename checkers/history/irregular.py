"""The error with which a fast reader leaves lines to the careful one."""

from __future__ import annotations

import numpy as np


class IrregularError(Exception):
    """The lines may or may not be valid: only the careful reader can decide."""


def require(regular: bool | np.bool_) -> None:  # noqa: FBT001 - it reads as an assertion
    """Raise IrregularError unless the condition holds."""
    if not regular:
        raise IrregularError
