"""The recipes of docs/extending name what is in the code; that their files exist, test_site.py checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.repository import ROOT

RECIPES = sorted((ROOT / "docs/extending").glob("*.md"))
NAME = re.compile(r"`([A-Z]\w+|[a-z]+(?:_[a-z]+)+)(?:\([^`]*\))?`")
"""A class, a constant, or a function with an underscore in its name."""


@pytest.fixture(scope="module")
def defined() -> frozenset[str]:
    """Every word of the code."""
    folders = ("checkers", "workloads", "harness", "fuzzing", "tests")
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return frozenset(
        word for file in files if file != Path(__file__) for word in re.findall(r"\w+", file.read_text())
    )


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda page: page.stem)
def test_every_name_of_a_recipe_is_in_the_code(recipe: Path, defined: frozenset[str]) -> None:
    named = set(NAME.findall(recipe.read_text(encoding="utf-8")))

    assert named
    assert named - defined - {"WORKERS", "SLOW_WORKERS"} == set()
