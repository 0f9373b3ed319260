"""The pictures of the documentation can be drawn again from recorded runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tools import pictures

PNG = b"\x89PNG"
SMALL = 250_000  # bytes


@pytest.mark.slow
def test_each_picture_is_drawn_small_and_in_both_schemes(browser: Browser, tmp_path: Path) -> None:
    pictures.draw(browser, tmp_path)

    drawn = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert drawn.keys() == {file.name for file in pictures.PICTURES.iterdir()}
    assert all(picture.startswith(PNG) and len(picture) < SMALL for picture in drawn.values())
    assert len(set(drawn.values())) == len(drawn)
