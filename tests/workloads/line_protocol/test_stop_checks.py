"""What `check-client` plays on the request "stop", on a correct program and with one mistake; no server."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.processes.program import ProgramCommand
from tests.support.repository import ROOT
from tests.support.systems import lock_settings, storage_settings
from tests.support.waiting import LONG_TTL, PATIENCE
from workloads.line_protocol.clients import set_up
from workloads.line_protocol.played import Check, asked
from workloads.line_protocol.program_client import ProgramClient, start_fields
from workloads.line_protocol.stop_checks import stop_of_a_holder, stop_without_a_lock

PROGRAM = ROOT / "tests/support/line_program.py"
RELEASE = "    revoke = release\n"
STOP = f"""{RELEASE}
    def stop(self, request):
        return {{"outcome": "ok"}} if request["owner"] is None else self.release(request)
"""
LOOP = "    for line in sys.stdin:\n"
GRACE = 2.0  # seconds; of a program that exceeds it
HOLD = ("r1", "0-6")


@pytest.fixture
def begin(tmp_path: Path) -> Any:
    """Start the program, which knows "stop", with texts of its source replaced."""
    begun = []

    def start(*replaced: tuple[str, str]) -> ProgramClient:
        source = PROGRAM.read_text().replace(RELEASE, STOP)
        for old, new in replaced:
            assert old in source
            source = source.replace(old, new)
        program = tmp_path / "program.py"
        program.write_text(source)
        command = ProgramCommand(words=(sys.executable, str(program), str(tmp_path / "file.db")), marks={})
        fields = start_fields(
            0, lock_settings("client", [], ttl=LONG_TTL), storage_settings("client", [], fencing="compare")
        )
        begun.append(ProgramClient(command.start, fields, timeout=5))
        return begun[-1]

    yield start
    for each in begun:
        each.close()


@pytest.fixture
def stopped(begin: Any) -> Any:
    """Stop a program that holds a lock."""

    def stop(*replaced: tuple[str, str], grace: float = PATIENCE, lease: int = LONG_TTL) -> list[Check]:
        other = begin()
        set_up(other, ["r1"])
        holder = begin(*replaced)
        called = time.monotonic_ns()
        taken = asked(holder, "acquire", resource=HOLD[0], owner=HOLD[1], wait_ms=1000)
        assert taken.word == "ok"
        return list(stop_of_a_holder(holder, other, HOLD, called + lease, grace))

    return stop


def wrong(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.request, check.found) for check in checks if not check.fits]


def test_a_correct_stop_frees_the_lock_and_ends_the_program(stopped: Any) -> None:
    checks = stopped()

    assert [(check.request, check.fits) for check in checks] == [
        ("stop", True),
        ("acquire after the stop", True),
        ("end after the stop", True),
    ]
    assert "lease" not in checks[1].found


def test_a_stop_that_keeps_the_lock_is_named(stopped: Any) -> None:
    keeps = ("self.release(request)\n\n    def write", '{"outcome": "ok"}\n\n    def write')

    ((request, found),) = wrong(stopped(keeps, lease=LONG_TTL // 10))

    assert request == "acquire after the stop"
    assert "the lock is not free: release it before you answer" in found


@pytest.mark.slow
def test_a_program_that_never_ends_is_named(stopped: Any) -> None:
    stays = (LOOP, "    import itertools\n    for line in itertools.chain(sys.stdin, iter(forever, None)):\n")
    forever = ("def main()", "def forever() -> None:\n    time.sleep(60)\n\n\ndef main()")

    ((request, found),) = wrong(stopped(stays, forever, grace=GRACE))

    assert request == "end after the stop"
    assert "end when standard input ends" in found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            'return {"outcome": "failed"}',
            "failed (the program gave no reason); expected ok: this owner holds",
        ),
        ('return {"outcome": "unsupported"}', 'unsupported; expected ok: answer it, or leave "stop" out'),
        ("sys.exit(3)", "unknown (the program ended with status 3); expected ok"),
        ('return {"outcome": "done"}', "in its answer to stop; "),
    ],
)
def test_a_stop_that_is_not_answered_with_ok_is_named(stopped: Any, body: str, said: str) -> None:
    answers = ("def stop(self, request):\n", f"def stop(self, request):\n        {body}\n")

    request, found = wrong(stopped(answers))[0]

    assert request == "stop"
    assert said in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("says", "said"), [("", "no answer within its grace, 2 s"), ("released", "the program said released: ")]
)
def test_a_stop_without_a_usable_answer_is_named(stopped: Any, says: str, said: str) -> None:
    body = (
        f"        sys.stdout.write({says!r} + chr(10) * bool({says!r})); sys.stdout.flush(); time.sleep(60)\n"
    )

    checks = stopped(("def stop(self, request):\n", f"def stop(self, request):\n{body}"), grace=GRACE)

    assert checks[0].request == "stop"
    assert said in checks[0].found


def test_a_lock_whose_lease_ended_first_proves_no_release(stopped: Any) -> None:
    (freed,) = (check for check in stopped(lease=0) if check.request == "acquire after the stop")

    assert freed.fits
    assert freed.found.endswith("raise lock.ttl")


def test_a_stop_without_a_lock_is_answered_and_ends_the_program(begin: Any) -> None:
    assert wrong(list(stop_without_a_lock(begin(), PATIENCE))) == []


def test_a_program_that_has_nothing_to_release_must_not_fail(begin: Any) -> None:
    program = begin(
        ('{"outcome": "ok"} if request["owner"] is None', '{"outcome": "failed"} if request["owner"] is None')
    )

    ((request, found),) = wrong(list(stop_without_a_lock(program, PATIENCE)))

    assert request == "stop without a lock"
    assert found.endswith("without a resource and an owner there is nothing to release")
