"""Imports point one way, between packages and between the rooms of `harness`; there are no import cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.import_graph import cycles, import_graph, sources, upward
from tests.support.repository import ROOT

PACKAGES = ("checkers", "workloads", "harness", "fencepost", "tools")
"""The lowest first: each may import those before it."""

ROOMS = tuple(
    f"harness.{room}"
    for room in (
        "core",  # errors, events, exit codes, paths
        "files",  # what is written: atomic files, logs, the run folder
        "processes",  # child processes, and what belongs to which run
        "network",  # addresses, topology, proxies, how each system answers
        "engines",
        "clients",
        "nemesis",
        "target",
        "report",
        "run",
        "search",
        "shrink",
        "card",  # a fixed series of runs against a lock library
        "campaign",  # many runs, every night
        "cli",
        "pytest_plugin",  # imported by pytest only
    )
)
"""The lowest first, as `PACKAGES`."""

JUDGMENT = (
    "checkers.history",
    "checkers.facts.stored_values",
    "checkers.facts.log_columns",
    "checkers.facts.evidence",
    "checkers.facts.leases",
    "checkers.facts.hold_order",
    "checkers.facts.shown_appends",
    "checkers.explain.narrator",  # the words that all explanations share
    "checkers.explain.conflict",
    "checkers.explain.checker",
    "checkers.locks",  # here and in the next two: one file per anomaly
    "checkers.lists",
    "checkers.storage",
    "checkers.verdict.findings",
    "checkers.verdict.judge",
)
"""From the history to the verdict, as `PACKAGES`: so each anomaly's file can have its own words."""

ALONE = {
    "checkers.models": {
        "checkers.text.errors",
        "checkers.history.records",
        "checkers.vocabulary.verdict",
    },
    "checkers.history": {
        "checkers.vocabulary.anomalies",
        "checkers.vocabulary.counts",
        "checkers.text.errors",
        "checkers.history.gc_pause",
        "checkers.vocabulary.hazards",
        "checkers.history.memoized",
        "checkers.text.nearest",
        "checkers.text.printable",
        "checkers.history.ranges",
    },
}
"""Floors of `checkers` that can be used without the rest: all that each imports."""


@pytest.fixture(scope="module")
def modules() -> Mapping[str, str]:
    return sources(ROOT, PACKAGES)


@pytest.fixture(scope="module")
def graph(modules: Mapping[str, str]) -> Any:
    return import_graph(modules)


def test_packages_import_only_those_below(graph: Any) -> None:
    assert upward(graph, PACKAGES) == []


def test_rooms_of_the_harness_import_only_those_below(graph: Any) -> None:
    assert upward(graph, ROOMS) == []


def test_the_judgment_imports_only_what_is_below(graph: Any) -> None:
    assert upward(graph, JUDGMENT) == []


def test_every_module_of_the_harness_is_in_a_room(modules: Mapping[str, str]) -> None:
    assert {name for name in modules if name.startswith("harness.") and name.count(".") == 1} == set(ROOMS)


def test_no_modules_import_one_another(graph: Any) -> None:
    assert list(cycles(graph)) == []


@pytest.mark.parametrize("floor", ALONE)
def test_a_floor_that_can_be_used_alone_imports_little(graph: Any, floor: str) -> None:
    own = [module for module in graph if f"{module}.".startswith(f"{floor}.")]

    assert {name for module in own for name in graph[module] if name not in own} <= ALONE[floor]


@pytest.mark.parametrize(
    ("module", "line", "floors"),
    [
        ("checkers.verdict.judge", "from harness.spec import Target", PACKAGES),
        ("workloads.register", "import harness.core.errors", PACKAGES),
        ("harness.engines.local", "def late():\n    from harness.nemesis import pause", ROOMS),
        ("checkers.facts.evidence", "from checkers.rules.stale_writes import in_log", JUDGMENT),
        ("checkers.explain.conflict", "from checkers.storage import stale_writes", JUDGMENT),
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
