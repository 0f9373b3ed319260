"""Paths that users name."""

from pathlib import Path

import pytest

from harness.core.errors import ConfigurationError
from harness.core.paths import is_file, path_of


def link(place: Path, to: str) -> str:
    place.symlink_to(to)
    return str(place)


@pytest.mark.parametrize("word", ["x" * 300, "x/" * 3_000, "a\0b", "\udcff\ud800"])
def test_an_impossible_path_is_refused_and_is_no_file(word: str) -> None:
    with pytest.raises(ConfigurationError):
        path_of(word)
    assert not is_file(word)


@pytest.mark.parametrize("to", ["x" * 300, "here"])
def test_a_link_to_an_impossible_path_is_refused_and_is_no_file(to: str, tmp_path: Path) -> None:
    here = link(tmp_path / "here", to)

    with pytest.raises(ConfigurationError, match="here: "):
        path_of(here)
    assert not is_file(here)


def test_a_path_may_be_missing_and_a_link_may_lead_to_nothing(tmp_path: Path) -> None:
    assert path_of(str(tmp_path / "new")) == tmp_path / "new"
    assert path_of(link(tmp_path / "here", "nowhere")) == tmp_path / "here"
