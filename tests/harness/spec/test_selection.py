"""Selecting targets by words."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import ConfigurationError
from harness.spec.selection import targets
from tests.support.target_files import SMALL


def test_a_link_out_of_a_folder_of_targets_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("key = s3cr3t\n")
    folder = tmp_path / "received"
    folder.mkdir()
    (folder / "a.toml").write_text(SMALL)
    (folder / "b.toml").symlink_to("../credentials")
    (folder / "c.toml").symlink_to("/dev/zero")

    with pytest.raises(ConfigurationError) as error:
        targets([str(folder)])

    assert error.value.lines == (
        f"{folder}/b.toml is a link out of its folder; name the file that it leads to: {tmp_path}/credentials",
        f"{folder}/c.toml is a link out of its folder; name the file that it leads to: /dev/zero",
    )


def test_a_link_to_a_file_of_the_same_folder_is_followed(tmp_path: Path) -> None:
    """Kubernetes puts the files of a volume into a folder of their own, and links to them."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data/a.toml").write_text(SMALL)
    (tmp_path / "a.toml").symlink_to("..data/a.toml")
    (tmp_path / "circle.toml").symlink_to("circle.toml")

    assert targets([str(tmp_path)]).names == (f"{tmp_path}/a.toml", f"{tmp_path}/circle.toml")


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.toml").write_text(SMALL)
    (tmp_path / "folder/mine.toml").symlink_to("../a.toml")
    (tmp_path / "link").symlink_to("folder")

    assert targets([str(tmp_path / "folder/mine.toml")]).names == (f"{tmp_path}/folder/mine.toml",)
