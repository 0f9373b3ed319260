"""A process of ours next to the harness: it ends once the harness is done with it, or has ended in any way.

It runs in its own session, and it ends with its standard input, which only the harness holds open.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def companion(
    module: str, *, stdout: int | None = None, stderr: int | IO[bytes] | None = None, bufsize: int = -1
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module as one until the block ends; unlike with Popen alone, Ctrl-C waits for its end, too."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", module],
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
