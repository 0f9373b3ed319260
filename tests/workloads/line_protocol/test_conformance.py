"""What `check-client` plays, on a correct program and on programs with one mistake each; no server."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.processes.program import Command
from tests.support.repository import ROOT
from tests.support.systems import lock_settings, storage_settings
from workloads.line_protocol.clients import set_up
from workloads.line_protocol.conformance import RESOURCES, Expected, conformance
from workloads.line_protocol.played import Check
from workloads.line_protocol.program_client import ProgramClient, ProgramError, start_fields

PROGRAM = ROOT / "tests/support/line_program.py"
TTL = 2_000_000_000  # ns; no lease ends during a check of a held lock, also on a busy machine


@pytest.fixture
def played(tmp_path: Path) -> Any:
    """Play the checks against the program, with a text of its source replaced; return those that do not fit."""

    def play(old: str, new: str, *sides: str) -> list[str]:
        source = PROGRAM.read_text()
        assert old in source
        program = tmp_path / "program.py"
        program.write_text(source.replace(old, new))
        command = Command(words=(sys.executable, str(program), str(tmp_path / "file.db")), marks={})

        def begin(client: int | None) -> ProgramClient:
            lock = lock_settings("client", [], ttl=TTL)
            storage = storage_settings("client", [], fencing="compare")
            return ProgramClient(command.start, start_fields(client, lock, storage), timeout=1)

        first = begin(None)
        set_up(first, RESOURCES)
        first.close()
        expected = Expected(
            sides=frozenset(sides),
            ttl=TTL,
            fenced=True,
            policy="strict",
            fence_on_acquire=False,
            served=frozenset(),
        )
        return [
            said(each) for each in conformance(begin, expected, lambda _side: nullcontext()) if not each.fits
        ]

    return play


def said(check: Check) -> str:
    return f"{check.request}: {check.found}"


def test_a_correct_program_fits(played: Any) -> None:
    assert played("", "", "lock", "storage") == []


HANGS = "no answer in time: every call needs a deadline; the rest was not played"


@pytest.mark.parametrize(
    ("side", "old", "new", "found"),
    [
        (
            "storage",
            "def read(self, request: Any) -> dict[str, Any]:",
            "def read(self, _):\n        time.sleep(60)",
            f"read: {HANGS}",
        ),
        (
            "lock",
            "def release(self, request: Any) -> dict[str, str]:",
            "def release(self, request):\n        time.sleep(60)",
            f"revoke: {HANGS}",  # it is the same method
        ),
        (
            "lock",
            "    revoke = release\n",
            """
    def revoke(self, request):
        self.database.execute("UPDATE lease SET ends = 0 WHERE resource = :resource", request)
        return {"outcome": "ok"}
""",
            "acquire of a held lock after the revoke of another owner: ok; expected failed",
        ),
        (
            "storage",
            "mark < :token OR",
            "mark < :token - 3 OR",
            "write with the next token: stale; expected ok",
        ),
        (
            "storage",
            'say(id=request["id"], **(handler',
            'say(id=request["id"], outcome="unsupported"); say(id=request["id"], **(handler',
            "answers: a second answer to the same request: ",
        ),
        (
            "storage",
            'else {"outcome": "unsupported"}))',
            'else {"outcome": "ok"}))',
            "an unknown request: ok; expected unsupported",
        ),
        (
            "storage",
            "def reconnect(self, _request: Any) -> dict[str, str]:",
            'def reconnect(self, request):\n        if len(request) > 3: return {"outcome": "failed", "reason": "?"}',
            "an unknown field: failed (?); expected ok",
        ),
        (
            "storage",
            "        request = json.loads(line)\n        handler",
            "        try: request = json.loads(line) | {}\n        except Exception: time.sleep(60)\n        handler",
            f"no-such-request after the line not JSON: {HANGS}",
        ),
        (
            "storage",
            "        request = json.loads(line)\n        handler",
            """        try: request = {"id": 0} | json.loads(line)
        except Exception: say(id=request["id"] + 1, outcome="ok"); continue
        handler""",
            "the line not JSON: .*",  # read as an answer to the next request, or before that was sent
        ),
        (
            "storage",
            '"value": value, "token": token}',
            '"value": value, "token": str(token) + "."}',
            "read: the program said .*got `str`",
        ),
    ],
    ids=[
        "hangs in read",
        "hangs in release",
        "revokes the lock of others",
        "refuses the next token",
        "answers twice",
        "accepts every request",
        "refuses a new field",
        "hangs after garbage",
        "answers garbage",
        "token is no number",
    ],
)
def test_a_mistake_is_named(played: Any, side: str, old: str, new: str, found: str) -> None:
    wrong = played(old, new, side)

    assert [each for each in wrong if matches(found, each)], wrong


def matches(found: str, said: str) -> bool:
    beginning, _, rest = found.partition(".*")
    return said.startswith(beginning) and rest in said


def test_a_program_that_cannot_start_again_is_named(played: Any) -> None:
    once = 'main() -> None:\n    import pathlib; first = json.loads(sys.stdin.readline())\n    pathlib.Path(sys.argv[1] + str(first["client"])).touch(exist_ok=False)\n'

    with pytest.raises(ProgramError, match=r"did not become ready: .*; it ended with status 1"):
        played("main() -> None:\n    first = json.loads(sys.stdin.readline())\n", once, "storage")
