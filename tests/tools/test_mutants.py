"""`[tool.mutmut]` names files that exist; mutmut itself is installed by `make mutants` only."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.support.repository import ROOT

MUTMUT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "mutmut"
]
TESTS = [each for each in MUTMUT["pytest_add_cli_args_test_selection"] if each.startswith("tests/")]


@pytest.mark.parametrize("pattern", MUTMUT["only_mutate"])
def test_a_pattern_of_what_to_mutate_matches_modules(pattern: str) -> None:
    assert [path for path in ROOT.glob(pattern) if path.suffix == ".py"]


@pytest.mark.parametrize("path", [*MUTMUT["also_copy"], *TESTS])
def test_what_mutants_are_tested_with_exists(path: str) -> None:
    assert (ROOT / path).exists()
