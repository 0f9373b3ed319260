"""Programs that speak the line protocol, and the locks and storages on top of them."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

from harness.clients.recorder import RecordedSession
from harness.processes.program import ProgramCommand
from tests.support.systems import TTL, Memory, lock_settings, storage_settings
from workloads.line_protocol.clients import ProgramLock, ProgramStorage
from workloads.line_protocol.program_client import start_fields

TIMEOUT = 0.3  # seconds
SETTINGS = start_fields(
    3, lock_settings("client", [], timeout=TIMEOUT), storage_settings("client", ["a:1"], timeout=TIMEOUT)
)
PROGRAM = """
import json, os, sys, time
def say(**fields):
    print(json.dumps(fields), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    number, op = request["id"], request["op"]
    if op in ("start", "reconnect"):
        say(id=number, outcome="ok")
        continue
{body}
"""


def command_of(source: str) -> ProgramCommand:
    return ProgramCommand(words=(sys.executable, "-c", source), marks={})


def program(body: Any) -> ProgramCommand:
    """A program that gets ready, reconnects, and runs `body` for every other request."""
    return command_of(PROGRAM.format(body=textwrap.indent(textwrap.dedent(body), "    ")))


def lock_of(client: Any) -> Any:
    memory = Memory()
    return ProgramLock(client, RecordedSession(memory, process=10, stride=100), TTL), memory


def storage_of(client: Any) -> Any:
    return ProgramStorage(client, lambda: None)
