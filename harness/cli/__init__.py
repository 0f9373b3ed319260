"""The command line: `main` is the command `fencepost`."""

from harness.cli.app import main

__all__ = ["main"]
