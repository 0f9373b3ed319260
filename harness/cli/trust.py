"""The user's word on what a received run would execute: it is asked for once, with --trust."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from harness.campaign import night
from harness.campaign.execution import TARGETS
from harness.core.errors import ConfigurationError
from harness.files.run_folder import HEADER, HISTORY, PLAN, VERDICT
from harness.spec.executed import ADD_TRUST, Executed


def require_trust(executed: Executed, where: str | Path, *, trust: bool, remedy: str = ADD_TRUST) -> None:
    """Keep the user's word if it is given; ConfigurationError if it is neither given nor known."""
    if trust:
        executed.trust()
    elif not executed.is_trusted:
        sentence = f"{where} is from a recorded run, and would execute what has not run on this machine:"
        raise ConfigurationError(sentence, *executed.lines(), remedy)


def is_in_recorded_run(file: Path) -> bool:
    """Is this a file in a run's folder or a target of a night, or does a link lead from or to one?"""
    return any(_is_recorded(place.parent) for place in _places(file))


def _is_recorded(folder: Path) -> bool:
    """Does a folder look like one of a run, below one, or like the targets of a night?"""
    if any(os.path.lexists(folder / name) for name in (HEADER, HISTORY, VERDICT)):
        return True
    above = folder.absolute().parents
    if any(os.path.lexists(each / HEADER) and os.path.lexists(each / PLAN) for each in above):
        return True
    names = (night.PLAN, night.RESULTS)
    return folder.name == TARGETS and all(os.path.lexists(folder.parent / name) for name in names)


def _places(file: Path) -> Iterator[Path]:
    """Yield the path of a file that has been read, and of each file to which a link leads on the way."""
    yield file
    while file.is_symlink():
        file = file.parent / file.readlink()
        yield file
