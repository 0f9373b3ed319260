"""The imports between modules, read from the source, including those in functions and for types only."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx as nx

Sources = Mapping[str, str]
"""The text of each module, by its dotted name."""


def sources(root: Path, packages: tuple[str, ...]) -> Sources:
    """Read every module of some packages."""
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file.read_text()
        for package in packages
        for file in (root / package).rglob("*.py")
    }


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
