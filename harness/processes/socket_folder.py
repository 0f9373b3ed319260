"""The temporary folder with the fork server's socket: removed also if the harness is killed.

multiprocessing removes it when the harness ends by itself; otherwise the fork server does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import util

_VARIABLE = "FENCEPOST_SOCKETS"


@contextmanager
def named_to_children() -> Iterator[None]:
    """Let a fork server that is started in the block find the folder."""
    os.environ[_VARIABLE] = util.get_temp_dir()
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def remover() -> Callable[[], None]:
    """In the fork server: return a function that removes the folder if the harness has ended."""
    folder, server, harness = os.environ.pop(_VARIABLE, ""), os.getpid(), os.getppid()

    def remove() -> None:
        if folder and os.getpid() == server and os.getppid() != harness:  # not in a client, which is a copy
            shutil.rmtree(folder, ignore_errors=True)

    return remove
