"""`latest`: our own link to the newest run beside it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.errors import ConfigurationError
from harness.files import dated_folders
from harness.files.received import LATEST
from tests.support.command import fencepost


def test_it_names_the_newest_folder(tmp_path: Path) -> None:
    assert dated_folders.latest(tmp_path) is None
    for _ in range(2):
        newest = dated_folders.create(tmp_path)
        assert dated_folders.latest(tmp_path) == newest


@pytest.mark.parametrize("leads_to", ["../mine", "{outside}", "nothing", "a/b", ".", "..", LATEST, "file"])
def test_a_link_that_is_not_ours_is_refused(tmp_path: Path, leads_to: str) -> None:
    (tmp_path / "mine").mkdir()
    theirs = tmp_path / "theirs"
    (theirs / "a" / "b").mkdir(parents=True)
    (theirs / "file").touch()
    (theirs / LATEST).symlink_to(leads_to.format(outside=tmp_path / "mine"))

    with pytest.raises(ConfigurationError, match="latest is not a link to a folder beside it"):
        dated_folders.latest(theirs)


@pytest.mark.parametrize("command", [["recheck"], ["shrink", "--no-runs"], ["show"], ["corpus", "add"]])
def test_in_a_received_folder_it_does_not_lead_to_another_run(
    recorded_run: Callable[[str], Path], tmp_path: Path, command: list[str]
) -> None:
    mine = recorded_run("etcd-postgres-unfenced")
    before = {path.name: path.stat().st_mtime_ns for path in mine.iterdir()}
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / LATEST).symlink_to(mine)

    done = fencepost(tmp_path, *command, str(theirs))

    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1), done.stderr
    assert "latest is not a link to a folder beside it; name the folder that you mean" in done.stderr
    assert {path.name: path.stat().st_mtime_ns for path in mine.iterdir()} == before
    assert [path.name for path in theirs.iterdir()] == [LATEST]


def test_a_link_that_the_user_types_is_followed(recorded_run: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / LATEST).symlink_to(recorded_run("etcd-postgres-unfenced"))

    assert fencepost(tmp_path, "recheck", LATEST).returncode == 0


def test_a_run_is_judged_although_a_link_lies_in_it(
    recorded_run: Callable[[str], Path], tmp_path: Path
) -> None:
    mine, theirs = recorded_run("etcd-postgres-unfenced"), recorded_run("etcd-postgres")
    (theirs / LATEST).symlink_to(mine)

    assert "etcd-postgres  " in fencepost(tmp_path, "recheck", str(theirs)).stdout
