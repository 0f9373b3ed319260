"""A fixture that starts programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.processes.program import ProgramCommand
from tests.support.client_programs import SETTINGS, TIMEOUT, program
from workloads.line_protocol.program_client import ProgramClient


@pytest.fixture
def speak() -> Iterator[Any]:
    """Start a program and its client; both end with the test."""
    begun = []

    def begin(body: Any, timeout: float = TIMEOUT) -> ProgramClient:
        command = body if isinstance(body, ProgramCommand) else program(body)
        begun.append(ProgramClient(command.start, SETTINGS, timeout))
        return begun[-1]

    yield begin
    for client in begun:
        client.close()
