"""The error by which a fast reader leaves lines to a careful one."""

from __future__ import annotations

import numpy as np


class IrregularError(Exception):
    """The lines may be valid or not: only a careful reader can decide."""


def require(regular: bool | np.bool_) -> None:  # noqa: FBT001 - it reads as an assertion
    """Raise IrregularError unless the condition holds."""
    if not regular:
        raise IrregularError
