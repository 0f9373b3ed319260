"""Imported only in the fork server: from then on it dies with the harness, however that ends.

The signal is sent when the thread that started the fork server ends, so the harness starts
it from its main thread. Its own session keeps the terminal's Ctrl-C from it and from the
clients that it starts: the harness ends them.

Orphans of a client's program become children of the fork server, in any session and with any
environment, and end with it.
"""

import atexit
import os
import signal
import warnings

import psutil

from harness.processes import fork_server, import_path, process_tree
from harness.processes.die_with_parent import adopt_orphans, die_with_parent


def end_all(_number: int, _frame: object) -> None:
    """End the clients, their orphans and this process."""
    process_tree.end_offspring(psutil.Process())
    remove_socket_folder()
    os._exit(0)


import_path.clear()
remove_socket_folder = fork_server.socket_folder_remover()
atexit.register(remove_socket_folder)
adopt_orphans()
warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")  # an orphan's
signal.signal(signal.SIGTERM, end_all)
die_with_parent(signal.SIGTERM)
os.setsid()
