"""A test that needs something this machine lacks: skip it, or fail if everything is required."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from harness.engines.engine import Engine
from harness.network.topology import Topology

REQUIRED = "FENCEPOST_REQUIRE_ENGINES"


def miss(why: str) -> NoReturn:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and {why}")
    pytest.skip(why)


def need(engine: Engine, topology: Topology) -> None:
    """Skip a test whose servers this engine cannot run here."""
    if refused := engine.refusal(topology):
        miss(str(refused))
