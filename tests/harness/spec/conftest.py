"""A fixture that writes target files."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: Any) -> Path:
        file = tmp_path / "t.toml"
        file.write_text(textwrap.dedent(text))
        return file

    return write
