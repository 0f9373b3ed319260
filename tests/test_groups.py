"""Which tests run in one process, and which start first."""

from __future__ import annotations

import pytest

from tests.support.selection import longest_first


@pytest.fixture(scope="module")
def servers() -> None:
    """Stands for servers that are started once."""


@pytest.mark.usefixtures("servers")
def test_tests_that_share_a_module_fixture_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """pytest-xdist sends a group to one process, and writes its name behind that of each test."""
    grouped = getattr(request.config.option, "loadgroup", False)

    assert request.node.nodeid.endswith("@tests/test_groups.py") is grouped


class Planned(pytest.Item):
    """A test that is only sorted."""

    def runtest(self) -> None:
        raise AssertionError("it is never run")


def test_the_files_of_the_longest_tests_start_first_and_stay_whole(request: pytest.FixtureRequest) -> None:
    def planned(name: str, *marks: pytest.MarkDecorator) -> pytest.Item:
        item: pytest.Item = Planned.from_parent(request.session, name=name, nodeid=name)
        for mark in marks:
            item.add_marker(mark)
        return item

    items = [
        planned("quick.py::first", pytest.mark.timeout(10)),
        planned("servers.py::first", pytest.mark.engine),
        planned("quick.py::second"),
        planned("long.py::first"),
        planned("servers.py::second"),
        planned("long.py::second", pytest.mark.timeout(900)),
    ]

    longest_first(items)

    assert [item.name for item in items] == [
        "long.py::first",
        "long.py::second",
        "servers.py::first",
        "servers.py::second",
        "quick.py::first",
        "quick.py::second",
    ]
