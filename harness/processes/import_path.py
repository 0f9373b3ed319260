"""The import path of this process and its Python child processes: never the current folder.

The current folder may contain files of other users, and for `python -m` and `python -c` Python looks
there first: it would import a `json.py` from it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

_VARIABLE = "PYTHONSAFEPATH"
_OURS = "fencepost"
_PYTHONPATH = "PYTHONPATH"


@contextmanager
def kept_by_children() -> Iterator[None]:
    """Let Python processes started in the block begin without the current folder.

    They call `clear`, because their own child processes are the user's.
    """
    if os.environ.get(_VARIABLE):  # the user has set it already
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


@contextmanager
def found_in(folder: str, python_path: str) -> Iterator[None]:
    """Let programs and modules be found as from a folder, with this PYTHONPATH; if empty, ours remains."""
    variable, path = os.environ.get(_PYTHONPATH), list(sys.path)
    with chdir(folder):
        if python_path:
            os.environ[_PYTHONPATH] = python_path
            sys.path[:0] = [str(Path(folder, each)) for each in python_path.split(os.pathsep)]
        try:
            yield
        finally:
            sys.path[:] = path
            if variable is None:
                os.environ.pop(_PYTHONPATH, None)
            else:
                os.environ[_PYTHONPATH] = variable


def leave_current_folder() -> None:
    """Remove the current folder from the path, unless this package itself is imported from it."""
    here, ours = Path.cwd(), Path(__file__).parents[2]
    if sys.path and not sys.flags.safe_path and Path(sys.path[0] or ".").absolute() == here != ours:
        del sys.path[0]
