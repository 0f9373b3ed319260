"""The table of the zoo in docs/zoo.md, generated from its target files."""

from __future__ import annotations

from harness.cli.zoo_exhibits import Exhibit, exhibits

HEAD = """\
| bug | what is wrong | expected (and what may come with it) | |
|---|---|---|---|
"""


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
        _link(exhibit.twin.name, "twin"),
    )
    return f"| {' | '.join(cells)} |\n"


def _link(name: str, text: str) -> str:
    return f"[{text}](../targets/zoo/{name}.toml)"
