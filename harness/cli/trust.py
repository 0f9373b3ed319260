"""The user's word on what a received run would execute: it is asked for once, with --trust."""

from __future__ import annotations

import os
from pathlib import Path

from harness.core.errors import ConfigurationError
from harness.files.run_folder import HEADER, HISTORY, VERDICT
from harness.target.executed import ADD_TRUST, Executed


def require_trust(executed: Executed, where: str | Path, *, trust: bool, remedy: str = ADD_TRUST) -> None:
    """Keep the user's word if it is given; ConfigurationError if it is neither given nor known."""
    if trust:
        executed.trust()
    elif not executed.is_trusted:
        sentence = f"{where} is from a recorded run, and would execute what has not run on this machine:"
        raise ConfigurationError(sentence, *executed.lines(), remedy)


def is_in_recorded_run(file: Path) -> bool:
    """Is this the file of a run's folder, such as its target.toml?"""
    folder = file.resolve().parent
    return any(os.path.lexists(folder / name) for name in (HEADER, HISTORY, VERDICT))
