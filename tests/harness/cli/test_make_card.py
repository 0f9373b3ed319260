"""`fencepost card`: where it writes, and what it says."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from tests.support.command import fencepost
from tests.support.repository import ROOT


def test_a_folder_that_cannot_hold_the_card_is_named_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = shlex.join([sys.executable, str(ROOT / "tests/support/line_program.py")])
    kinds = ["--lock=client", "--storage=sqlite", "--no-token", "--only=calm", "--name=mine"]

    done = fencepost(tmp_path, "card", "--engine=local", "--cards=file/cards", *kinds, command)

    assert done.returncode == 4, done.stderr
    said = "file/cards/mine: cannot hold the card: Not a directory; name another folder with --cards"
    assert said in done.stderr
