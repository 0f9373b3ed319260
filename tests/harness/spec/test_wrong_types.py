"""Every setting refuses values of a wrong type, with its place, the value and what it must be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.nemesis.faults import FAULTS
from harness.spec.fields import OWN
from harness.spec.locks import LOCKS
from harness.spec.models import ClientSpec, Target, WorkloadSpec
from harness.spec.reading import load_text
from harness.spec.storages import STORAGES

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
