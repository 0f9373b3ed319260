"""Where this process and the Python processes that it starts import from: never from the current folder.

The folder that a command is called in may hold anybody's files, and Python would take a `json.py`
there for its own: for `python -m` and `python -c` it looks there first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "PYTHONSAFEPATH"
_OURS = "fencepost"


@contextmanager
def kept_by_children() -> Iterator[None]:
    """Have Python processes that are started in the block begin without the current folder.

    Those call `clear`, for what they start in turn is the user's.
    """
    if os.environ.get(_VARIABLE):  # the user's own wish
        yield
        return
    os.environ[_VARIABLE] = _OURS
    try:
        yield
    finally:
        clear()


def clear() -> None:
    """Undo what `kept_by_children` did to the environment."""
    if os.environ.get(_VARIABLE) == _OURS:
        del os.environ[_VARIABLE]


def leave_current_folder() -> None:
    """Take back that Python looks there first, unless it is where this package itself is imported from."""
    here, ours = Path.cwd(), Path(__file__).parents[2]
    if sys.path and not sys.flags.safe_path and Path(sys.path[0] or ".").absolute() == here != ours:
        del sys.path[0]
