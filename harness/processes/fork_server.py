"""Imported by the fork server alone: from then on it dies with the harness, however that ends.

The signal follows the thread that started the fork server, which is why the
harness starts it from its main thread. A session of its own keeps the
terminal's Ctrl-C from it and from the clients that it starts: the harness
ends them.

What a client's program has started and left becomes a child of the fork server, whatever session
it has moved to and whatever it has made of its environment, and ends with it.
"""

import os
import signal
import warnings

import psutil

from harness.processes import import_path, process_tree
from harness.processes.parent_death import adopt_orphans, die_with_parent


def end_all(_number: int, _frame: object) -> None:
    """End the clients and all that they have left, and this process."""
    process_tree.end_offspring(psutil.Process())
    os._exit(0)


import_path.clear()
adopt_orphans()
warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")  # an orphan's
signal.signal(signal.SIGTERM, end_all)
die_with_parent(signal.SIGTERM)
os.setsid()
