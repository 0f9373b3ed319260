"""docs/atlas.md: the page of what is in docs/atlas, and histories that show what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.run.recheck import judge_file
from tools.atlas import FOUND, PAGE, SERVERS, page

ATLASES = sorted(FOUND.glob("*/atlas.json"))


def failed(atlas: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(atlas.read_text())["cells"] if cell["history"]]


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == "".join(page())


def test_only_servers_of_the_atlas_have_a_folder() -> None:
    assert {each.parent.name for each in ATLASES} <= {server.slug for server in SERVERS}


@pytest.mark.parametrize("atlas", ATLASES, ids=lambda atlas: atlas.parent.name)
def test_each_history_shows_what_was_found(atlas: Path) -> None:
    for cell in failed(atlas):
        verdict = judge_file(FOUND / cell["history"]).verdict

        assert sorted({each.anomaly for each in verdict.findings}) == cell["findings"]


@pytest.mark.parametrize("atlas", ATLASES, ids=lambda atlas: atlas.parent.name)
def test_no_history_is_without_its_cell(atlas: Path) -> None:
    kept = {f"{file.parent.name}/{file.name}" for file in atlas.parent.glob("*.jsonl")}

    assert kept == {cell["history"] for cell in failed(atlas)}
