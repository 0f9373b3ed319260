"""The hooks, options and the fixture that pytest sees.

Slow imports are left until a run needs them, because pytest loads this module in every project.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.pytest_plugin.runs import Fencepost
    from harness.pytest_plugin.target_items import TargetFile

MARKER = "fencepost"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, in a separate group."""
    group = parser.getgroup("fencepost", "Fencepost: locks and fencing tokens on real servers")
    group.addoption("--fencepost", action="store_true", help="collect target files (*.toml) as tests")
    group.addoption(
        "--fencepost-engine",
        choices=("auto", "docker", "local"),
        default="auto",
        help="auto (the default): Docker if it answers, otherwise local",
    )
    group.addoption(
        "--fencepost-require", action="store_true", help="fail where no engine answers, instead of skipping"
    )
    group.addoption("--fencepost-seed", type=int, metavar="N", help="repeat the schedule of another run")
    group.addoption(
        "--fencepost-set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of every target, such as workload.duration=10s",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(target, duration, seed, overrides, faults, engine): runs a target on real servers;"
        " arguments are defaults of `fencepost.run`",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> TargetFile | None:
    """Collect target files, if `--fencepost` is given."""
    if file_path.suffix != ".toml" or not parent.config.getoption("--fencepost"):
        return None
    from checkers.text.printable import printable
    from harness.pytest_plugin.target_items import TargetFile, is_target

    if not is_target(file_path):
        return None
    name = printable(file_path.name)  # pytest prints it as it is
    nodeid = None if name == file_path.name else f"{parent.nodeid}/{name}"
    return TargetFile.from_parent(parent, path=file_path, nodeid=nodeid)


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixture."""
    for item in items:
        if "fencepost" in getattr(item, "fixturenames", ()) and not item.get_closest_marker(MARKER):
            item.add_marker(MARKER)


@pytest.fixture
def fencepost(request: pytest.FixtureRequest) -> Fencepost:
    """Run targets: `fencepost.run("targets/mine.toml", duration="20s", seed=7)`."""
    from harness.pytest_plugin.runs import Fencepost

    marker = request.node.get_closest_marker(MARKER)
    return Fencepost(request.node, marker.kwargs if marker else {})
