"""Which tests run in one process."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def servers() -> None:
    """Stands for servers that are started once."""


@pytest.mark.usefixtures("servers")
def test_tests_that_share_a_module_fixture_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """pytest-xdist sends a group to one process, and writes its name behind that of each test."""
    grouped = getattr(request.config.option, "loadgroup", False)

    assert request.node.nodeid.endswith("@tests/test_groups.py") is grouped
