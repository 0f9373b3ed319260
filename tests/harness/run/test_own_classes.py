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


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (
            "mine:MyLock",
            "mine.toml: validate does not load mine:MyLock: a run does, before it starts servers\n",
        ),
        ("mine:MyLok", "mine.py has no MyLok; did you mean MyLock?\n"),
        ("workloads.zoo.wall_clock_token:Lock", ""),
    ],
    ids=["the user's", "missing", "that ships"],
)
def test_validate_looks_for_a_class_and_does_not_load_it(tmp_path: Path, lock: str, said: str) -> None:
    (tmp_path / "mine.py").write_text('open("it-ran", "w")\nclass MyLock: ...\n')
    (tmp_path / "mine.toml").write_text(TARGET.format(lock=lock))

    done = fencepost(tmp_path, "validate", "mine.toml")

    assert done.returncode == 0
    assert said in done.stderr
    assert ("load" in done.stderr) is bool(said)
    assert not (tmp_path / "it-ran").exists()
