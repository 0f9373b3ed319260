"""The command line: `main` is the command `fencepost`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from harness.core.exit_codes import ExitCode

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code, also if Ctrl-C comes while its modules are still loading."""
    try:
        from harness.cli import app
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(ExitCode.INTERRUPTED)
    app.main(arguments)
