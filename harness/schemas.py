"""The JSON Schemas of target files and of what a run writes; `python -m harness.schemas` writes them.

They are made from the types that the files are read with, so they cannot say anything else.
It writes the table of the targets in the documentation as well.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any, get_args

from harness.whole_file import AS_THE_USER_LIKES, replace_file

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

ROOT = Path(__file__).parents[1]

FILES = {
    "target": "targets/schema.json",
    "history": "schemas/history.schema.json",
    "commits": "schemas/commits.schema.json",
    "verdict": "schemas/verdict.schema.json",
}
"""Where each is committed, from the root of the repository."""


def schemas() -> dict[str, Schema]:
    """Make every schema, by the name of what it describes."""
    return {"target": target(), "history": history(), "commits": commits(), "verdict": verdict()}


def target() -> Schema:
    """Describe a target file, for editors that read `#:schema`."""
    from harness.target import Target

    return {"$schema": DIALECT, **_without_null(Target.model_json_schema())}


def history() -> Schema:
    """Describe one line of history.jsonl: the header, or an event of a client or of the nemesis."""
    from checkers.reading.lines import ClientLine, FaultLine, HeaderLine

    return _one_of("A line of history.jsonl", (HeaderLine, *get_args(ClientLine), FaultLine))


def commits() -> Schema:
    """Describe one line of commits.jsonl."""
    from checkers.reading.lines import CommitLine

    return _one_of("A line of commits.jsonl", (CommitLine,))


def verdict() -> Schema:
    """Describe verdict.json."""
    from checkers.document import VerdictDocument

    return _one_of("verdict.json", (VerdictDocument,))


def written(schema: Schema) -> str:
    """Give the text that is committed."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _one_of(title: str, types: tuple[Any, ...]) -> Schema:
    import msgspec

    variants, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    shape = variants[0] if len(variants) == 1 else {"anyOf": list(variants)}
    described = {name: _with_clean_description(schema) for name, schema in definitions.items()}
    return {"$schema": DIALECT, "title": title, **shape, "$defs": described}


def _with_clean_description(schema: Schema) -> Schema:
    """A docstring without its indentation: Python 3.13 takes that off, older ones do not."""
    if "description" not in schema:
        return schema
    return schema | {"description": inspect.cleandoc(schema["description"])}


def _without_null(schema: Any) -> Any:
    """Drop what says null, and pydantic's titles of keys: TOML has no null, an optional key is left out."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _without_null(value) for key, value in schema.items() if not _says_null(key, value)}
    if len(kept.get("anyOf", ())) == 1:
        kept |= kept.pop("anyOf")[0]
    return kept


def _says_null(key: str, value: object) -> bool:
    return (key == "default" and value is None) or (key == "title" and isinstance(value, str))


def main() -> None:
    """Write all that is committed."""
    from harness.documentation import TABLES, with_table

    for name, schema in schemas().items():
        _write(FILES[name], written(schema))
    for page, table in TABLES.items():
        _write(page, with_table((ROOT / page).read_text(encoding="utf-8"), table()))


def _write(name: str, text: str) -> None:
    file = ROOT / name
    file.parent.mkdir(exist_ok=True)
    replace_file(file, [text], AS_THE_USER_LIKES)
    print(f"wrote {name}")  # noqa: T201 (what a command says)


if __name__ == "__main__":
    main()
