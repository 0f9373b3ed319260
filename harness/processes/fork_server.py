"""The fork server: the process that forks the clients, and ends with all of them when the harness ends.

`fork_server_setup` is imported in it. The temporary folder with its socket is removed also if the harness is
killed: multiprocessing removes it when the harness ends by itself; otherwise the fork server does.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Sequence
from multiprocessing import forkserver, util
from multiprocessing.context import ForkServerContext

from harness.processes import import_path

_SOCKETS = "FENCEPOST_SOCKETS"  # tells the fork server the process of the harness, and the folder
_ENDING = 5.0  # seconds that a killed harness has to be gone
_POLL = 0.01  # seconds


def started(modules: Sequence[str]) -> ForkServerContext:
    """Start the fork server with these modules imported, unless it runs; call it from the main thread."""
    context: ForkServerContext = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["harness.processes.fork_server_setup", *modules])
    os.environ[_SOCKETS] = f"{os.getpid()}:{util.get_temp_dir()}"
    try:
        with import_path.kept_by_children():
            forkserver.ensure_running()
    finally:
        del os.environ[_SOCKETS]
    return context


def socket_folder_remover() -> Callable[[], None]:
    """In the fork server: return a function that removes the folder if the harness has ended."""
    server, (harness, _, folder) = os.getpid(), os.environ.pop(_SOCKETS, "0:").partition(":")

    def remove() -> None:
        if os.getpid() != server:  # a client, which is a copy
            return
        deadline = time.monotonic() + _ENDING
        # A killed harness closes its files, and its first thread ends, before it is gone.
        while os.path.lexists(folder) and time.monotonic() < deadline:
            if os.getppid() != int(harness):
                shutil.rmtree(folder, ignore_errors=True)
                return
            time.sleep(_POLL)

    return remove
