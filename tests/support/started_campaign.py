"""A campaign on the local engine as a process, to be ended in mid-run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.repository import ROOT


@contextmanager
def started_campaign(
    folder: Path, campaign: Path, *options: str, stderr: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """Start it; it is killed at the end, if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "campaign", "--engine", "local", *options, str(campaign)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
