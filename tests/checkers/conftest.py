"""Files of other tools, written for one test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.foreign_histories import written


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Any], Path]:
    return lambda content: written(tmp_path, content)
