"""`fencepost clean` removes the cache of recorded histories that Fencepost had before 0.1.0."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engines.cleanup import clean


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "fencepost").mkdir(mode=0o700)
    return tmp_path / "fencepost"


def test_the_old_cache_is_removed(caches: Path) -> None:
    (caches / "columns").mkdir(mode=0o700)
    (caches / "columns" / "a.npz").touch()

    assert f"the unused cache {caches / 'columns'}" in clean().removed
    assert not (caches / "columns").exists()


def test_a_link_in_its_place_is_left_alone(caches: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    (caches / "columns").symlink_to(other)

    assert any(str(caches / "columns") in kept for kept in clean().kept)
    assert (other / "kept").exists()
