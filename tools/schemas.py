"""Writes the generated files that are committed: the JSON Schemas, and the tables of the documentation.

`make schemas` calls it.
"""

from __future__ import annotations

from pathlib import Path

from harness.cli.schemas import schemas, written
from harness.files.atomic_files import USER_MODE, replace_file
from tools.tables import TABLES, with_table

ROOT = Path(__file__).parents[1]

FILES = {
    "target": "targets/schema.json",
    "history": "schemas/history.schema.json",
    "commits": "schemas/commits.schema.json",
    "verdict": "schemas/verdict.schema.json",
    "bench": "schemas/bench.schema.json",
    "campaign-file": "campaigns/schema.json",
    "campaign": "schemas/campaign.schema.json",
}
"""The path of each, from the root of the repository."""


def main() -> None:
    """Write all of them."""
    for name, schema in schemas().items():
        _write(FILES[name], written(schema))
    for page, table in TABLES.items():
        _write(page, with_table((ROOT / page).read_text(encoding="utf-8"), table()))


def _write(name: str, text: str) -> None:
    file = ROOT / name
    file.parent.mkdir(exist_ok=True)
    replace_file(file, [text], USER_MODE)
    print(f"wrote {name}")  # noqa: T201 (what a command says)


if __name__ == "__main__":
    main()
