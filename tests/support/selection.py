"""Which tests run, in which order and in which processes, and how many random cases they draw."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Protocol

import pytest

QUICK = "not slow and not nightly"
ENGINES = {"docker_engine", "local_engine"}


def nightly(*values: object) -> list[object]:
    """Parameters of one value or one tuple each, which only `make test-nightly` tries."""
    marks = pytest.mark.nightly
    return [pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=marks) for each in values]


BOTH_ENGINES = ["local", *nightly("docker")]
"""Parameters for tests that must pass on both engines."""


def seeds(count: int) -> list[object]:
    """Parameters for tests that must pass with each seed: the others are for the night."""
    return [0, *nightly(*range(1, count))]


def leave_out_slow_tests(config: pytest.Config) -> None:
    """Leave slow and nightly tests out of a run that names neither files, nor tests, nor markers."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if not (named or config.option.markexpr or config.option.keyword):
        config.option.markexpr = QUICK  # pytest-xdist's workers inherit it


def mark(item: pytest.Item) -> None:
    """Mark tests that need an engine or a browser, or draw random cases; group tests that share fixtures."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if fixtures & ENGINES:
        item.add_marker("engine")
    if "browser" in fixtures:
        item.add_marker("browser")
    if "cases" in fixtures:
        item.add_marker("random")
    if group := _shared_by(item) or (_file(item) if item.get_closest_marker("browser") else ""):
        item.add_marker(pytest.mark.xdist_group(group))


def longest_first(items: list[pytest.Item]) -> None:
    """Start the files with the longest timeouts first, then those that need an engine or a browser.

    Otherwise one process works alone at the end. A file stays in one piece: its tests share servers.
    """
    longest: defaultdict[str, float] = defaultdict(float)
    for item in items:
        longest[_file(item)] = max(longest[_file(item)], _seconds(item))
    items.sort(key=lambda item: -longest[_file(item)])


def _seconds(item: pytest.Item) -> float:
    """The timeout of a test, and a little more if it waits for others."""
    default = float(item.config.getini("timeout"))
    timeout = item.get_closest_marker("timeout")
    seconds = max(default, *timeout.args) if timeout else default
    return seconds + any(map(item.get_closest_marker, ("engine", "browser")))


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::", maxsplit=1)[0]


def _shared_by(item: pytest.Item) -> str:
    """Name the group of tests that share a module fixture, such as servers: one process starts it once."""
    if not isinstance(item, pytest.Function):
        return ""
    definitions = item._fixtureinfo.name2fixturedefs
    shared = [name for name, found in definitions.items() if found[-1].scope == "module" and found[-1].baseid]
    if not shared:
        return ""
    params = getattr(item, "callspec", None)
    values = [str(params.params[name]) for name in sorted(shared) if params and name in params.params]
    return "-".join([_file(item), *values])


SHARE = float(os.environ.get("FENCEPOST_EXAMPLES", "1"))
FEWEST = 20


def examples(count: int, *, least: int = FEWEST) -> int:
    """Return the share of `count`, but no fewer than `least`."""
    return max(min(count, least), round(count * SHARE))


class Cases(Protocol):
    """The type of `examples`, and of the fixture `cases`."""

    def __call__(self, count: int, *, least: int = FEWEST) -> int: ...
