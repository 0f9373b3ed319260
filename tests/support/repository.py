"""Where the files of the repository are, and how pyproject.toml describes the project."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HISTORIES = ROOT / "tests" / "histories"

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_PYTHON = "Programming Language :: Python :: 3."
PYTHONS = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if each.startswith(_PYTHON)]
"""Those that Fencepost runs on, such as "3.11", oldest first."""
