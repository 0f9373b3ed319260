"""Every key: in the schema and the documentation, and its errors with place, value and remedy."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from harness.core.errors import ConfigurationError
from harness.nemesis.faults import FAULTS
from harness.spec import load
from harness.spec.fields import COUNTS, OWN
from harness.spec.locks import LOCKS
from harness.spec.models import ClientSpec, Target, WorkloadSpec
from harness.spec.reading import load_text
from harness.spec.storages import STORAGES
from tests.support.target_files import SMALL, errors_in, read
from tools.schemas import FILES, ROOT

TEXT = """
name = "t"
expect = ["stale-write"]
[lock]
{}
[storage]
kind = "postgres"
fencing = "none"
[[faults]]
{}
"""


@pytest.fixture
def errors_of(tmp_path: Path) -> Callable[[str, str], list[str]]:
    """The errors of a target with this lock and this fault."""

    def errors_of(lock: str, fault: str) -> list[str]:
        file = tmp_path / "t.toml"
        file.write_text(TEXT.format(lock, fault))
        with pytest.raises(ConfigurationError) as caught:
            load(file)
        return str(caught.value).splitlines()

    return errors_of


def test_all_errors_of_a_clock_are_reported_together(errors_of: Callable[[str, str], list[str]]) -> None:
    clock = 'kind = "clock"\ntarget = "etcd-1"\njump = "1s"\ndrift = 0.1\nevery = "2s"\nlasts = "1h"'

    errors = errors_of('kind = "etcd"\nversion = "3.5.15"', clock)

    assert [error.split("faults.0.")[1].split(" = ")[0] for error in errors] == [
        "target",
        "jump",
        "drift",
        "lasts",
        "lasts",
    ]


def test_a_clock_with_two_moves_hides_no_other_error(errors_of: Callable[[str, str], list[str]]) -> None:
    clock = 'kind = "clock"\ntarget = "redsi"\njump = "1h"\ndrift = 1.0\nlasts = "1h"'

    errors = "\n".join(errors_of('kind = "redis"', clock))

    assert "a clock moves in one way" in errors
    assert "this target has no server redsi; did you mean redis-1?" in errors
    assert "must be shorter than the run" in errors
    assert len(errors.splitlines()) == 3


@pytest.mark.parametrize("lock", ["etcd", "etdc"])
@pytest.mark.parametrize(
    ("times", "others"),
    [
        ('at = "before-wrte"\nuntil = "superseded"', 1),
        ('at = "before-write"\nuntil = "supersede"', 1),
        ('at = "before-write"', 1),
        ('at = "before-write"\nuntil = "superseded"\nlasts = "1s"', 1),
        ('every = "8"\nlasts = "1s"', 1),
        ("", 1),
    ],
)
def test_wrong_times_hide_no_misspelt_holder(
    errors_of: Callable[[str, str], list[str]], lock: str, times: str, others: int
) -> None:
    errors = errors_of(f'kind = "{lock}"', f'kind = "pause"\ntarget = "holdr"\n{times}')

    assert sum("did you mean holder?" in error for error in errors) == 1
    assert len(errors) == 1 + others + (lock == "etdc")


@pytest.mark.parametrize("lock", ["etcd", "etdc"])
def test_a_misspelt_holder_is_noticed(errors_of: Callable[[str, str], list[str]], lock: str) -> None:
    fault = 'kind = "pause"\ntarget = "holdr"\nevery = "8s"\nlasts = "1s"'

    errors = errors_of(f'kind = "{lock}"', fault)

    assert "did you mean holder?" in errors[-1]
    assert len(errors) == (2 if lock == "etdc" else 1)


@pytest.mark.parametrize(
    ("section", "errors"),
    [
        (
            'kind = "zookeepr"\nttl = "2"\nnodes = 2\nnods = 3',
            [
                '3: lock.kind = "zookeepr": there is no such kind; did you mean zookeeper?',
                '4: lock.ttl = "2": must be a duration with a unit, such as "2s", "1500ms" or "2m"',
                "5: lock.nodes = 2: must be 1, 3 or 5",
                "6: lock.nods = 3: unknown key in [lock]; did you mean nodes?",
            ],
        ),
        (
            'kind = "consul"\nttl = 2\nnodes = 2\nqq = 1',
            [
                f'3: lock.kind = "consul": there is no such kind; there are: {", ".join(LOCKS)}',
                '4: lock.ttl = 2: must be a duration with a unit, such as "2s", "1500ms" or "2m"',
                "6: lock.qq = 1: unknown key in [lock]; there are: ",
            ],
        ),
        (
            "ttl = 2",
            [
                f"2: lock: has no kind; there are: {', '.join(LOCKS)}",
                '3: lock.ttl = 2: must be a duration with a unit, such as "2s", "1500ms" or "2m"',
            ],
        ),
    ],
    ids=["a misspelled kind", "an unknown kind", "no kind"],
)
def test_a_wrong_kind_hides_no_other_error_of_its_section(section: str, errors: list[str]) -> None:
    head, tail = 'name = "t"\n[lock]\n', '\n[storage]\nkind = "sqlite"\nfencing = "none"\n'

    found = [error for error in errors_in(head + section + tail) if "lock" in error]

    assert len(found) == len(errors)
    for error, expected in zip(found, errors, strict=True):
        assert error.startswith(f"t.toml:{expected}")


WRONG = ['"yes"', "7", "-1", "true", "2.5", "nan", "[]", "[1]", "[[]]", "1979-05-27", "99999999999999999999"]
BASE = {
    "": {"name": '"t"', "expect": '"valid"'},
    "[lock]": {"kind": '"etcd"'},
    "[storage]": {"kind": '"postgres"', "fencing": '"conditional-update"'},
}
SECTIONS: Mapping[str, Mapping[Any, Any]] = {
    "": {None: Target},
    "[lock]": LOCKS,
    "[storage]": STORAGES,
    "[client]": {None: ClientSpec},
    "[workload]": {None: WorkloadSpec},
    "[[faults]]": FAULTS,
}
REMEDY = re.compile(
    r"must (be|name|have|not be) |needs |such as |there (is|are)|remove the key|name them in|name the serv|is missing"
)
JARGON = re.compile(r"[Ii]nput|should|valid (integer|string|number|list|tuple)|less than or|greater than or")


def settings() -> Iterator[Any]:
    """Yield each header, kind and key that a target file may have."""
    for header, kinds in SECTIONS.items():
        for kind, model in kinds.items():
            named = "module:Class" if kind == OWN else kind
            for name, field in model.model_fields.items():
                key = field.alias or name
                yield pytest.param(header, named, key, id=f"{header}{named or ''}.{key}")


def text_with(header: str, kind: str | None, key: str, value: str) -> tuple[str, int]:
    """Return a file with one setting, and the line of it."""
    sections = {name: dict(keys) for name, keys in BASE.items() if name != f"[{key}]"}
    changed = sections.setdefault(header, {"command": '["x"]'} if header == "[client]" else {})
    if kind is not None:
        changed["kind"] = f'"{kind}"'
    changed[key] = value
    lines = [
        line
        for name, keys in sections.items()
        for line in (name, *(f"{each} = {given}" for each, given in keys.items()))
    ]
    own = lines.index(header)
    return "\n".join(lines), lines.index(f"{key} = {value}", own) + 1


@pytest.mark.parametrize(("header", "kind", "key"), list(settings()))
def test_a_wrong_type_is_refused_with_place_value_and_remedy(header: str, kind: str | None, key: str) -> None:
    path = ".".join(filter(None, (header.strip("[]"), "0" if header == "[[faults]]" else "", key)))
    refused = 0
    for value in WRONG:
        text, line = text_with(header, kind, key, value)
        try:
            load_text(text, "t.toml")
        except ConfigurationError as error:
            own = [each for each in error.lines if re.match(rf"t\.toml:{line}: {re.escape(path)}\b", each)]
        else:
            own = []
        refused += bool(own)
        for each in own:
            said, _, why = each.partition(f"{line}: ")[2].partition(": ")
            assert " = " in said, each
            assert REMEDY.search(why), each
            assert not JARGON.search(why), each
    assert refused >= len(WRONG) / 2, f"{path} accepts too much"


@pytest.mark.parametrize("document", FILES)
def test_the_committed_schema_is_current(document: str) -> None:
    committed = (ROOT / FILES[document]).read_text()

    assert committed == schemas.written(schemas.schemas()[document]), "make schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(committed))


@pytest.mark.slow
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
