"""The tables of the documentation that are generated, from target files, records and the command line.

`tools.schemas` writes each between two comments of its page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tools import command_table, known_bugs, target_table, zoo_table

BEGIN = "<!-- `make schemas` writes this table -->\n"
END = "<!-- end of the table -->\n"

TABLES: Mapping[str, Callable[[], str]] = {
    "docs/commands.md": command_table.table,
    "docs/known-bugs.md": known_bugs.table,
    "docs/targets/shipped.md": target_table.table,
    "docs/zoo.md": zoo_table.table,
}
"""The page of each, from the root of the repository."""


def with_table(page: str, table: str) -> str:
    """Return the page with the current table between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table + END + after
