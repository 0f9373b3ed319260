"""The user's own classes: a run imports them, `validate` only looks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import fencepost

TARGET = """
name = "mine"
expect = ["stale-write"]
lock = {{kind = "{lock}"}}
storage = {{kind = "sqlite", fencing = "none"}}
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text('open("it-ran", "w")\nclass MyLock: ...\n')


def test_validate_does_not_load_a_class_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TARGET.format(lock="mine:MyLock"))

    done = fencepost(tmp_path, "validate", "mine.toml")

    assert done.returncode == 0
    assert (
        "mine.toml: validate does not load mine:MyLock: a run does, before it starts servers\n" in done.stderr
    )
    assert not (tmp_path / "it-ran").exists()


def test_validate_says_that_a_class_is_missing(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TARGET.format(lock="mine:MyLok"))

    done = fencepost(tmp_path, "validate", "mine.toml")

    assert done.returncode == 0
    assert "mine.toml: lock.kind: mine:MyLok cannot be loaded: " in done.stderr
    assert "mine.py has no MyLok; did you mean MyLock?\n" in done.stderr


def test_validate_says_nothing_of_a_class_that_ships(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(TARGET.format(lock="workloads.zoo.wall_clock_token:Lock"))

    done = fencepost(tmp_path, "validate", "mine.toml")

    assert "loaded" not in done.stderr
