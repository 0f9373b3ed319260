"""Targets that are valid, and whose green run would mean little."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.exit_codes import ExitCode
from harness.spec import load
from harness.spec.reading import shipped
from harness.spec.warnings import warnings
from tests.support.command import fencepost

PAUSE = '{kind = "pause", target = "holder", at = "before-write", until = "superseded"}'


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("expect=valid", f"faults=[{PAUSE}]"), ["nothing compares tokens"]),
        (("expect=valid", "faults=[]"), ["nothing compares tokens", "no fence is challenged"]),
        ((f"faults=[{PAUSE}]",), []),
    ],
)
def test_a_target_whose_green_run_means_little_is_named(overrides: tuple[str, ...], said: list[str]) -> None:
    found = list(warnings(load("etcd-postgres-unfenced", overrides)))

    assert len(found) == len(said)
    assert all(words in each for words, each in zip(said, found, strict=True))


@pytest.mark.parametrize("name", shipped())
def test_no_target_that_ships_is_warned_of(name: str) -> None:
    assert list(warnings(load(name))) == []


def test_validate_says_so_and_ends_well(tmp_path: Path) -> None:
    done = fencepost(tmp_path, "validate", "etcd-postgres", "--set", "faults=[]")

    assert done.returncode == ExitCode.AS_EXPECTED
    assert "etcd-postgres: there is no [[faults]]: nothing makes a write stale" in done.stderr
