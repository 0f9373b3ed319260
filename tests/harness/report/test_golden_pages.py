"""What the terminal and the page say of recorded runs: every exhibit of the zoo, its twin, and others.

A golden file that has changed is read before it is committed: `make golden` writes them.
"""

from __future__ import annotations

import difflib

import pytest

from harness.cli.zoo_exhibits import TWIN
from tests.support.golden import golden, said
from tests.support.recorded_runs import recorded

CASES = [pytest.param(name, marks=pytest.mark.slow if name.endswith(TWIN) else []) for name in recorded()]


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_run_is_reported_as_its_golden_file_has_it(name: str) -> None:
    expected = golden(name).read_text(encoding="utf-8").splitlines()

    changed = list(difflib.unified_diff(expected, said(name).splitlines(), "golden", "now", lineterm="", n=1))

    assert not changed, "\n".join([*changed, "read it, and write it with `make golden`"])
