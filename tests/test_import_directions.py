"""Imports point one way, between packages and between their folders; there are no import cycles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import networkx as nx
import pytest

from tests.support.repository import ROOT

Sources = Mapping[str, str]
"""The text of each module, by its dotted name."""


def import_graph(modules: Sources) -> nx.DiGraph[str]:
    """Draw an edge from each module to each of these modules that it imports."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(modules)
    for module, text in modules.items():
        graph.add_edges_from((module, name) for name in _imported(text, modules) if name != module)
    return graph


def cycles(graph: nx.DiGraph[str]) -> set[frozenset[str]]:
    """Find the groups of modules that import one another."""
    return {frozenset(group) for group in nx.strongly_connected_components(graph) if len(group) > 1}


def upward(graph: nx.DiGraph[str], floors: tuple[str, ...]) -> list[tuple[str, str]]:
    """List the imports from a layer to a higher one; `floors` are dotted prefixes, the lowest first."""

    def floor(module: str) -> int | None:
        fitting = (n for n, prefix in enumerate(floors) if f"{module}.".startswith(f"{prefix}."))
        return next(fitting, None)

    placed = ((edge, floor(edge[0]), floor(edge[1])) for edge in graph.edges)
    return sorted(
        edge for edge, own, other in placed if own is not None and other is not None and other > own
    )


def _imported(text: str, modules: Sources) -> Iterator[str]:
    for module, names in _imports(text):
        if not names and module in modules:
            yield module
        for name in names:
            full = f"{module}.{name}"
            if full in modules or module in modules:
                yield full if full in modules else module


@cache
def _imports(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Parse the imports of a module: what it imports, and the names it takes from there."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += ((alias.name, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, tuple(alias.name for alias in node.names)))
    return tuple(found)


PACKAGES = ("checkers", "workloads", "harness", "fencepost", "tools")
"""The lowest first: each may import those before it."""


def folders_on_the_page(package: str) -> tuple[str, ...]:
    """The folders of a package in the order of the page of the layout: the lowest first, as `PACKAGES`."""
    page = (ROOT / "docs/extending/layout.md").read_text(encoding="utf-8")
    table = page.partition(f"Each subpackage of `{package}` imports only those above it")[2]
    rows = re.findall(r"^\| `(\w+)` \|", table.partition("\n\n|")[2].partition("\n\n")[0], re.MULTILINE)
    return tuple(f"{package}.{row}" for row in rows)


ROOMS, CHECKERS = folders_on_the_page("harness"), folders_on_the_page("checkers")
"""Nothing of a run's verdict imports the last two of the checkers."""


@pytest.fixture(scope="module")
def modules() -> Mapping[str, str]:
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file.read_text()
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
    }


@pytest.fixture(scope="module")
def graph(modules: Mapping[str, str]) -> Any:
    return import_graph(modules)


def test_packages_import_only_those_below(graph: Any) -> None:
    assert upward(graph, PACKAGES) == []


def test_rooms_of_the_harness_import_only_those_below(graph: Any) -> None:
    assert upward(graph, ROOMS) == []


def test_floors_of_the_checkers_import_only_those_below(graph: Any) -> None:
    assert upward(graph, CHECKERS) == []


def test_formats_import_nothing_of_the_judgment(graph: Any) -> None:
    assert upward(graph, ("checkers.formats", *CHECKERS[3:8])) == []


def test_the_report_draws_what_was_judged_and_judges_nothing(graph: Any) -> None:
    assert upward(graph, ("harness.report", *CHECKERS[4:])) == []


def test_every_module_of_the_harness_is_in_a_room(modules: Mapping[str, str]) -> None:
    assert folders_of("harness", modules) == set(ROOMS)


def test_every_module_of_the_checkers_is_on_a_floor(modules: Mapping[str, str]) -> None:
    assert folders_of("checkers", modules) == set(CHECKERS)


def folders_of(package: str, modules: Mapping[str, str]) -> set[str]:
    """All that is directly in a package."""
    return {name for name in modules if name.startswith(f"{package}.") and name.count(".") == 1}


def test_no_modules_import_one_another(graph: Any) -> None:
    assert list(cycles(graph)) == []


@pytest.mark.parametrize(
    ("module", "line", "floors"),
    [
        ("checkers.verdict.judge", "from harness.spec import Target", PACKAGES),
        ("workloads.register", "import harness.core.errors", PACKAGES),
        ("harness.engines.local", "def late():\n    from harness.nemesis import pause", ROOMS),
        ("checkers.facts.evidence", "from checkers.rules.stale_writes import in_log", CHECKERS),
        ("checkers.explain.conflict", "from checkers.rules import stale_writes", CHECKERS),
        ("harness.core.paths", "from harness.files.atomic_files import PRIVATE", ROOMS),
    ],
)
def test_a_planted_import_upwards_is_found(
    modules: Mapping[str, str], module: str, line: str, floors: tuple[str, ...]
) -> None:
    graph = import_graph({**modules, module: f"{modules[module]}\n{line}\n"})

    assert [edge[0] for edge in upward(graph, floors)] == [module]


def test_a_planted_cycle_is_found(modules: Mapping[str, str]) -> None:
    planted = "from harness.core.paths import path_of\n"
    graph = import_graph({**modules, "harness.core.errors": modules["harness.core.errors"] + planted})

    assert frozenset({"harness.core.errors", "harness.core.paths"}) in cycles(graph)
