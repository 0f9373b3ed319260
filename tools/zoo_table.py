"""The table of the zoo in docs/zoo.md, generated from its target files and recorded runs."""

from __future__ import annotations

import json
from pathlib import Path

from harness.cli.zoo_exhibits import Exhibit, exhibits

HEAD = """\
| bug | what is wrong | expected (and what may come with it) | the hazards that its recorded run hit | |
|---|---|---|---|---|
"""
RECORDED = Path(__file__).parents[1] / "tests/histories/zoo"
_MOST = 4  # hazards of a row, those that were hit most often first


def table() -> str:
    """Return the table: one row per bug."""
    return HEAD + "".join(_row(exhibit) for exhibit in exhibits())


def _row(exhibit: Exhibit) -> str:
    bug = exhibit.bug
    may = f" ({', '.join(bug.may)})" if bug.may else ""
    cells = (
        _link(bug.name, f"`{bug.name}`"),
        exhibit.story,
        f"{', '.join(bug.expected)}{may}",
        _hazards(bug.name),
        _link(exhibit.twin.name, "twin"),
    )
    return f"| {' | '.join(cells)} |\n"


def _hazards(name: str) -> str:
    """Name the hazards that the recorded run of a bug hit, by its golden verdict."""
    facts = RECORDED / f"{name}.facts.json"
    hit = json.loads(facts.read_text(encoding="utf-8")).get("hazards", {}) if facts.exists() else {}
    often = sorted(hit, key=hit.__getitem__, reverse=True)
    more = f" and {len(often) - _MOST} more" if len(often) > _MOST else ""
    return (", ".join(f"`{each}`" for each in often[:_MOST]) + more) or "none"


def _link(name: str, text: str) -> str:
    return f"[{text}](../targets/zoo/{name}.toml)"
