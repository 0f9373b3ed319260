"""The names of the package `fencepost`: complete, documented, typed, and imported on first use."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator

import pytest

import fencepost
from tests.support.repository import ROOT

NAMES = dir(fencepost)
DOCUMENTED = re.findall(r"^\| `(\w+)[`(]", (ROOT / "docs/python.md").read_text(), re.MULTILINE)
OURS = ("checkers", "workloads", "harness", "compose")


def imported_by(statement: str) -> set[str]:
    """The modules that a statement adds to those of a bare interpreter, without the standard library's."""
    script = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}


def test_importing_the_package_imports_no_other() -> None:
    assert imported_by("import fencepost") == {"fencepost"}


@pytest.mark.parametrize(
    "name", ["Grant", "Stale", "Session", "Commit", "LockSettings", "FencepostError", "ConfigurationError"]
)
def test_what_a_client_needs_imports_neither_engines_nor_checkers(name: str) -> None:
    heavy = {"numpy", "pydantic", "docker", "networkx", "harness.engines", "harness.spec", "checkers.rules"}

    assert not imported_by(f"from fencepost import {name}") & heavy


def test_the_names_are_sorted_and_each_is_there() -> None:
    star: dict[str, object] = {}

    exec("from fencepost import *", star)  # noqa: S102 - the public names

    assert sorted(NAMES) == NAMES
    assert star.keys() - {"__builtins__"} == set(NAMES)
    assert all(star[name] is getattr(fencepost, name) for name in NAMES)


def test_a_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fencepost' has no attribute 'Verdikt'"):
        getattr(fencepost, "Verdikt")  # noqa: B009 - a type checker knows that there is none


def test_type_checkers_see_the_names_that_exist_at_run_time() -> None:
    stub = ast.parse((ROOT / "fencepost/__init__.pyi").read_text())
    imports = [each for each in stub.body if isinstance(each, ast.ImportFrom)]
    declared = {
        alias.asname: f"{each.module}.{alias.name}"
        for each in imports
        for alias in each.names
        if alias.asname
    }

    assert declared == {name: f"{module}.{name}" for name, module in fencepost.__dict__["_HOMES"].items()}


def test_the_documentation_lists_every_name_once() -> None:
    assert sorted(DOCUMENTED) == NAMES


def test_every_class_and_function_has_a_docstring() -> None:
    described = [name for name in NAMES if callable(getattr(fencepost, name))]

    assert [name for name in described if not inspect.getdoc(getattr(fencepost, name))] == []


def own_types(annotation: object) -> Iterator[type]:
    """The classes of ours in an annotation, also in those of a callable."""
    if isinstance(annotation, list | tuple):
        for each in annotation:
            yield from own_types(each)
    elif arguments := typing.get_args(annotation):
        yield from own_types(arguments)
    elif isinstance(annotation, type) and annotation.__module__.partition(".")[0] in OURS:
        yield annotation


def signatures() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function, and the methods of the protocols that users implement or call."""
    for name in NAMES:
        found = getattr(fencepost, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found) and getattr(found, "_is_protocol", False):
            yield from (
                (f"{name}.{method}", each) for method, each in vars(found).items() if inspect.isfunction(each)
            )


SIGNATURES = dict(signatures())


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_type_in_a_public_signature_is_public(name: str) -> None:
    public = {getattr(fencepost, each) for each in NAMES if inspect.isclass(getattr(fencepost, each))}

    used = {each for hint in typing.get_type_hints(SIGNATURES[name]).values() for each in own_types(hint)}

    assert {each.__name__ for each in used - public} == set()
