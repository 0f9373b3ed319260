"""The JSON Schemas of target files and of the files that a run writes.

They are generated from the types that read the files, so the two cannot disagree.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from itertools import pairwise
from typing import Any, get_args

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from checkers.history.lines import ClientLine, CommitLine, FaultLine, HeaderLine
from checkers.vocabulary.document import VerdictDocument
from harness.bench.document import BenchDocument
from harness.campaign.campaign_file import Campaign
from harness.campaign.document import CampaignDocument
from harness.spec import Target

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, Schema]:
    """Return every schema by the name of its document; those of files in TOML are for editors."""
    return {
        "target": _of_toml(Target),
        "history": _one_of("A line of history.jsonl", (HeaderLine, *get_args(ClientLine), FaultLine)),
        "commits": _one_of("A line of commits.jsonl", (CommitLine,)),
        "verdict": _one_of("verdict.json", (VerdictDocument,)),
        "bench": _one_of("bench.json", (BenchDocument,)),
        "campaign-file": _of_toml(Campaign),
        "campaign": _one_of("campaign.json", (CampaignDocument,)),
    }


def written(schema: Schema) -> str:
    """Return the text to commit."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _of_toml(model: type[BaseModel]) -> Schema:
    return {"$schema": DIALECT, **_without_null(model.model_json_schema(schema_generator=_WithDocstrings))}


class _WithDocstrings(GenerateJsonSchema):
    """Describes each key by the docstring of its attribute.

    Pydantic's own `use_attribute_docstrings` would parse all classes whenever a target is read.
    """

    def model_schema(self, schema: ModelSchema) -> Schema:
        made = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        described: dict[str, str] = {}
        for base in reversed(model.__mro__):
            described |= _docstrings(base)
        for name, field in model.model_fields.items():
            if name in described:
                made["properties"][field.alias or name].setdefault("description", described[name])
        return made


def _body(owner: type) -> list[ast.stmt]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    return definition.body if isinstance(definition, ast.ClassDef) else []


def _docstrings(owner: type) -> dict[str, str]:
    """Return the docstrings of a model's own attributes, by name."""
    if not issubclass(owner, BaseModel) or owner is BaseModel:
        return {}
    found = {}
    for each, below in pairwise(_body(owner)):
        match each, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found


def _one_of(title: str, types: tuple[Any, ...]) -> Schema:
    variants, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    shape = variants[0] if len(variants) == 1 else {"anyOf": list(variants)}
    described = {name: _with_clean_description(schema) for name, schema in definitions.items()}
    return {"$schema": DIALECT, "title": title, **shape, "$defs": described}


def _with_clean_description(schema: Schema) -> Schema:
    """Remove the indentation of a docstring, as Python 3.13 does and older ones do not."""
    if "description" not in schema:
        return schema
    return schema | {"description": inspect.cleandoc(schema["description"])}


def _without_null(schema: Any) -> Any:
    """Drop null, which TOML lacks (an optional key is left out), and pydantic's titles of keys."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema if item != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _without_null(value)
        for key, value in schema.items()
        if not (key == "default" and value is None) and not (key == "title" and isinstance(value, str))
    }
    if len(kept.get("anyOf", ())) == 1:
        kept |= kept.pop("anyOf")[0]
    return kept
