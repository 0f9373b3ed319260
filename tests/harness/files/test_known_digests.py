"""Digests that are kept in the user's state folder."""

import os
import stat
from pathlib import Path

import pytest

from harness.files import known_digests
from harness.files.known_digests import KnownDigest, is_known, remember


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "fencepost"


def test_a_digest_is_known_once_it_is_kept(state: Path) -> None:
    assert not is_known(KnownDigest.TRUSTED, "ab")

    remember(KnownDigest.TRUSTED, "ab")

    assert is_known(KnownDigest.TRUSTED, "ab")
    assert not is_known(KnownDigest.PAGES, "ab")
    assert not is_known(KnownDigest.TRUSTED, "a")
    assert (state / "trusted" / "ab").read_bytes() == b""
    assert stat.S_IMODE((state / "trusted" / "ab").stat().st_mode) == 0o600
    assert stat.S_IMODE((state / "trusted").stat().st_mode) == 0o700


def test_the_oldest_digests_are_removed(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    monkeypatch.setattr(known_digests, "MOST", 2)
    for number, digest in enumerate("abc"):
        remember(KnownDigest.PAGES, digest)
        os.utime(state / "pages" / digest, ns=(number, number))
    remember(KnownDigest.PAGES, "b")
    remember(KnownDigest.PAGES, "d")

    assert {digest for digest in "abcd" if is_known(KnownDigest.PAGES, digest)} == {"b", "d"}


def test_a_folder_that_others_may_write_to_knows_nothing(state: Path) -> None:
    remember(KnownDigest.TRUSTED, "ab")
    (state / "trusted").chmod(0o777)

    assert not is_known(KnownDigest.TRUSTED, "ab")


def test_a_link_is_no_digest(state: Path, tmp_path: Path) -> None:
    remember(KnownDigest.TRUSTED, "ab")
    (tmp_path / "file").touch()
    (state / "trusted" / "cd").symlink_to(tmp_path / "file")

    assert not is_known(KnownDigest.TRUSTED, "cd")


def test_a_relative_state_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "received"
    theirs.mkdir()
    monkeypatch.chdir(theirs)
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    remember(KnownDigest.TRUSTED, "ab")

    assert is_known(KnownDigest.TRUSTED, "ab")
    assert [*theirs.iterdir()] == []
