"""A process that does one thing once the harness is done with it, or has ended in any way.

It runs in its own session. Its standard input is a line with the order, and then nothing until
the harness, which alone holds it open, closes it or ends.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def survivor(module: str, order: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """Start a module as such a process; `communicate` lets it act, and returns what it says.

    The end of the block lets it act too, and waits for it.
    """
    with companion(module, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None  # noqa: S101 - a pipe
        process.stdin.write(order + b"\n")
        process.stdin.flush()
        yield process


@contextmanager
def companion(
    module: str,
    *arguments: str,
    stdout: int | None = None,
    stderr: int | IO[bytes] | None = None,
    bufsize: int = -1,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module in a process of its own session, which ends with its standard input, until the block ends.

    Also Ctrl-C waits for its end: Popen's own block then does so for 0.25 s only.
    """
    with subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        bufsize=bufsize,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait()


def order_when_due() -> str:
    """In that process: wait until it has to act, and return its order."""
    order = sys.stdin.readline()
    sys.stdin.read()
    return order
