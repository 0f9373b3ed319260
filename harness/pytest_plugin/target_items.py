"""Target files as tests: `pytest --fencepost targets/`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.text.printable import printable
from harness.core.errors import ConfigurationError, FencepostError
from harness.files import received
from harness.files.run_folder import PLAN
from harness.pytest_plugin import runs
from harness.spec.reading import parse


class NotAsExpectedError(Exception):
    """A target did not end as it expects; the message is the explanation."""


class TargetFile(pytest.File):
    """A target file, with one test."""

    def collect(self) -> Iterator[TargetItem]:
        """Collect the one test; a file that cannot be read fails when it is run."""
        yield TargetItem.from_parent(self, name=printable(self.path.stem))


class TargetItem(pytest.Item):
    """A target that must end as its file expects."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_marker("fencepost")

    def runtest(self) -> None:
        """Run it once."""
        run = runs.run(self, self.path)
        if not run.as_expected:
            raise NotAsExpectedError(run.explanation)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **options: Any) -> Any:
        """Show the explanation, or the error, without the calls that led to it."""
        if isinstance(excinfo.value, NotAsExpectedError | FencepostError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **options)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Name it in reports."""
        return self.path, None, f"target {self.name}"


def is_target(file: Path) -> bool:
    """Is this a target file, or unreadable TOML? No pyproject.toml is, nor is the copy in a run's folder."""
    if received.exists(file.parent, PLAN):
        return False
    try:
        return "lock" in parse(file).data
    except ConfigurationError:
        return True
