"""The schema and the documentation of target files."""

import json
import tomllib
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from harness.core.errors import ConfigurationError
from harness.nemesis.faults import FAULTS
from harness.spec import Target, WorkloadSpec
from harness.spec.fields import COUNTS
from harness.spec.locks import LOCKS
from harness.spec.reading import load_text
from harness.spec.storages import STORAGES
from tests.support.target_files import SMALL, read
from tools.schemas import FILES, ROOT


@pytest.mark.parametrize("document", FILES)
def test_the_committed_schema_is_current(document: str) -> None:
    committed = (ROOT / FILES[document]).read_text()

    assert committed == schemas.written(schemas.schemas()[document]), "make schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(committed))


def test_the_schema_refuses_the_same_files_as_the_reader() -> None:
    wrong = tomllib.loads(SMALL) | {"workload": {"cleints": 5}}

    with pytest.raises(jsonschema.ValidationError, match="cleints"):
        jsonschema.validate(wrong, schemas.schemas()["target"])


PAGES = sorted((ROOT / "docs/targets").rglob("*.md"))
DOCUMENTATION = "".join(page.read_text() for page in PAGES)


@pytest.mark.parametrize(
    "model",
    [Target, *LOCKS.values(), *STORAGES.values(), WorkloadSpec, *FAULTS.values()],
    ids=lambda model: model.__name__,
)
def test_every_key_is_documented(model: type[Any]) -> None:
    keys = {known.alias or name for name, known in model.model_fields.items()} - {"kind"}
    sections = {"lock", "storage", "client", "workload", "faults", "require"}

    assert not [key for key in keys if f"`{key}`" not in DOCUMENTATION and key not in sections]


def test_every_count_that_can_be_required_is_documented() -> None:
    assert [name for name in COUNTS if f"`{name}`" not in DOCUMENTATION] == []


OVERVIEW = (ROOT / "docs/targets/index.md").read_text(encoding="utf-8")
EXAMPLE = OVERVIEW.split("```toml\n")[1].split("```")[0]


def test_the_example_in_the_documentation_is_valid() -> None:
    assert read(EXAMPLE).name == "mine"


def test_errors_in_the_example_are_reported_as_the_page_shows() -> None:
    shown = OVERVIEW.split("$ fencepost validate mine.toml\n")[1].split("```")[0]
    wrong = EXAMPLE.replace('"etcd"\n', '"etcd"\nnodes = 2\n')
    wrong = wrong.replace('fencing = "conditional-update"', 'fencng = "upsert"')

    with pytest.raises(ConfigurationError) as refused:
        load_text(wrong, "mine.toml")

    assert [*refused.value.lines] == shown.splitlines()
