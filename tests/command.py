"""The command as its users call it: a process of its own, in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def fencepost(folder, *arguments, timeout=100, **environment):
    """Call it, also where `folder` is not the checkout; `environment` adds to this process' own."""
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def run_target(folder, target, *settings, engine="local", timeout=100, **environment):
    """Run a target with changed settings; its verdict is the JSON on stdout."""
    options = [word for setting in settings for word in ("--set", setting)]
    words = ("run", "--engine", engine, "--format", "json", *options, target)
    return fencepost(folder, *words, timeout=timeout, **environment)
