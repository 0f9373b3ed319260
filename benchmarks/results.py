"""The measurements so far, in a JSON file, so that an interrupted run can continue."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil


class Results:
    """Measurements by name; each is saved immediately."""

    def __init__(self, path: Path, *, afresh: bool) -> None:
        self._path = path
        self._rows: dict[str, Any] = {}
        if path.exists() and not afresh:
            self._rows = json.loads(path.read_text(encoding="utf-8"))

    def __getitem__(self, name: str) -> Any:
        return self._rows[name]

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def once(self, name: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the measurement of this name; measure it now if there is none."""
        if name not in self._rows:
            self._rows[name] = measure()
            self._save()
        row: dict[str, Any] = self._rows[name]
        return row

    def _save(self) -> None:
        new = self._path.with_suffix(".new")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(self._rows, indent=1) + "\n", encoding="utf-8")
        new.replace(self._path)


def machine() -> dict[str, Any]:
    """Describe the machine."""
    return {
        "cores": os.cpu_count(),
        "gibibytes": round(psutil.virtual_memory().total / 2**30),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": round(os.getloadavg()[0], 1),
    }
