"""The command as its users call it: as a separate process, in a folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess, Popen
from typing import Any

from harness.core.exit_codes import ExitCode
from tests.support.repository import ROOT
from tests.support.warm_command import WarmCommand

FENCEPOST = [sys.executable, "-m", "harness.cli"]
DEADLINE = 300  # s; a guard, far beyond what a call takes on a slow machine
STARTS_CLIENTS = {"run", "zoo", "campaign", "shrink", "bench"}
STARTS_NONE = {
    "--dry-run",
    "--no-runs",
    "merge",
    "recheck",
    "seeds",
}  # options of these commands, and subcommands
warm = WarmCommand()


def ran(
    words: Sequence[str | Path],
    *,
    cwd: Path | str = ROOT,
    timeout: float = DEADLINE,
    check: bool = False,
    **more: Any,
) -> CompletedProcess[str]:
    """Run any program, and keep what it prints; `more` is for `subprocess.run`."""
    return subprocess.run(
        words, cwd=cwd, timeout=timeout, check=check, capture_output=True, text=True, **more
    )


def fencepost(
    folder: Path, *arguments: str | Path, timeout: float = DEADLINE, **environment: str
) -> CompletedProcess[str]:
    """Run it in any folder; `environment` adds to this process' own.

    A command that starts clients gets a new interpreter, because its children are copies of it.
    """
    words = [str(each) for each in arguments]
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    if not STARTS_CLIENTS & set(words[:1]) or STARTS_NONE & set(words[1:]):
        return warm(words, folder, variables, timeout)
    return ran([*FENCEPOST, *words], cwd=folder, env=variables, timeout=timeout)


def refused(
    folder: Path, *arguments: str | Path, timeout: float = DEADLINE, **environment: str
) -> CompletedProcess[str]:
    """Run a command that is refused before any client starts."""
    words = [str(each) for each in arguments]
    return warm(words, folder, os.environ | {"PYTHONPATH": str(ROOT)} | environment, timeout)


def refusal(folder: Path, *arguments: str | Path) -> str:
    """Give the words of a command that is refused as wrong configuration."""
    done = refused(folder, *arguments)
    assert done.returncode == ExitCode.CONFIGURATION, done.stdout + done.stderr
    return done.stderr


def run_words(target: Path | str, *settings: str, engine: str = "local") -> list[str]:
    """The command that runs a target with changed settings, and prints its verdict as JSON."""
    options = [word for setting in settings for word in ("--set", setting)]
    return ["run", "--engine", engine, "--format", "json", *options, str(target)]


def run_target(
    folder: Path,
    target: Path | str,
    *settings: str,
    engine: str = "local",
    timeout: float = DEADLINE,
    **environment: str,
) -> CompletedProcess[str]:
    """Run a target; its verdict is the JSON on stdout."""
    words = run_words(target, *settings, engine=engine)
    return fencepost(folder, *words, timeout=timeout, **environment)


INSTALLED = Path(sys.executable).with_name("fencepost")


def start(*arguments: str, cwd: Path) -> Popen[str]:
    return subprocess.Popen(
        [INSTALLED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )


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
