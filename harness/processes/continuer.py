"""Continues stopped processes when the harness ends, however it ends: `continuer.py PID…`.

A server that a fault has stopped would otherwise outlive a killed harness: it only handles the
signal of its parent's death once it continues. A separate process in its own session waits for
the end of its standard input, which only the harness holds open.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import psutil

from harness.processes import process_tree
from harness.processes.survivor import companion


@contextmanager
def continued_at_end(heads: Iterable[psutil.Process]) -> Iterator[None]:
    """Continue processes and their descendants when the block ends, or this process does."""
    with companion("harness.processes.continuer", *(str(head.pid) for head in heads)):
        yield


def main() -> None:
    """Run the command line."""
    sys.stdin.read()
    for pid in sys.argv[1:]:
        with suppress(psutil.NoSuchProcess):
            process_tree.continue_all(psutil.Process(int(pid)))


if __name__ == "__main__":
    main()
