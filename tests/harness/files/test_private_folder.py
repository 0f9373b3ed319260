"""Which files another user can replace: it may be written to, or a folder above it may be."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.files.private_folder import others_can_replace

USER = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "above").mkdir()
    made = tmp_path / "above" / "file"
    made.touch(0o600)
    return made


def test_a_file_in_a_folder_of_the_user_is_not_replaced(file: Path) -> None:
    assert not others_can_replace(file)


def test_a_folder_in_which_only_owners_replace_files_is_safe(file: Path) -> None:
    file.parent.chmod(0o1777)

    assert not others_can_replace(file)


def test_the_file_itself_counts_not_the_link_to_it(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)
    file.parent.chmod(0o777)

    assert others_can_replace(tmp_path / "link")


@pytest.mark.parametrize(
    ("group", "members", "is_exposed"),
    [(USER, [], False), (USER, [USER], False), (USER, ["eve"], True), ("staff", [], True)],
)
def test_a_group_counts_unless_it_is_the_users_own(
    file: Path, monkeypatch: pytest.MonkeyPatch, group: str, members: list[str], is_exposed: bool
) -> None:
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=group, gr_mem=members))
    file.parent.chmod(0o775)

    assert others_can_replace(file) is is_exposed
