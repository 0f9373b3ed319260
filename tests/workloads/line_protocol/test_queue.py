"""A queue backed by a program, and what `check-client` plays on one, correct or with one mistake; no server."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.processes.program import ProgramCommand
from tests.support.repository import ROOT
from tests.support.systems import lock_settings, storage_settings
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.program_client import ProgramClient, start_fields
from workloads.line_protocol.queue import LONGEST_WAIT, ProgramQueue
from workloads.line_protocol.queue_checks import queue_checks
from workloads.run import Taken

PROGRAM = ROOT / "tests/support/queue_program.py"
TTL = 500  # ms
JOBS = ("q0-0", "q0-1")
PATIENCE = 30_000_000_000  # ns


@pytest.fixture
def begin(tmp_path: Path) -> Any:
    """Start the program, with a text of its source replaced."""
    begun = []

    def start(old: str = "", new: str = "") -> ProgramClient:
        source = PROGRAM.read_text()
        assert old in source
        program = tmp_path / "program.py"
        program.write_text(source.replace(old, new) if old else source)
        command = ProgramCommand(words=(sys.executable, str(program), str(tmp_path / "file.db")), marks={})
        fields = start_fields(
            0, lock_settings("client", [], ttl=TTL * 1_000_000), storage_settings("client", [])
        )
        begun.append(ProgramClient(command.start, fields, timeout=5))
        return begun[-1]

    yield start
    for each in begun:
        each.close()


def queue_of(program: ProgramClient, wait: int = PATIENCE) -> ProgramQueue:
    ends = time.monotonic_ns() + wait
    return ProgramQueue(program, JOBS, lambda: ends)


def test_a_submitted_job_is_taken_and_completed_once(begin: Any) -> None:
    queue = queue_of(begin())
    queue.submit("q0", "q0-0", time.monotonic_ns())

    taken = queue.take("q0", "0-1")
    queue.complete("q0", taken, failed=False)

    assert taken == Taken(job="q0-0", owner="0-1", token=1)
    with pytest.raises(NotApplied, match="another attempt has it"):
        queue.complete("q0", taken, failed=False)


def test_a_job_is_not_taken_before_it_is_due(begin: Any) -> None:
    queue = queue_of(begin())
    due = time.monotonic_ns() + 400_000_000
    queue.submit("q0", "q0-0", due)

    queue.take("q0", "0-1")

    assert time.monotonic_ns() >= due - 2_000_000  # the protocol counts in milliseconds


def test_a_take_ends_with_the_run(begin: Any) -> None:
    with pytest.raises(NotApplied, match="no job came in time"):
        queue_of(begin(), wait=0).take("q0", "0-1")


def test_a_take_asks_again_until_a_job_comes(begin: Any) -> None:
    queue = queue_of(begin())
    due = time.monotonic_ns() + (LONGEST_WAIT + 200) * 1_000_000
    queue.submit("q0", "q0-0", due)

    assert queue.take("q0", "0-1").job == "q0-0"


def test_a_worker_that_is_to_leave_asks_for_no_other_job(begin: Any) -> None:
    queue = ProgramQueue(begin(), JOBS, lambda: time.monotonic_ns() + PATIENCE, leaving=lambda: True)

    with pytest.raises(NotApplied, match="no job came in time"):
        queue.take("q0", "0-1")


def test_a_program_that_refuses_at_once_is_not_asked_again(begin: Any) -> None:
    queue = queue_of(begin("if ms() >= ends:", "if True:"))

    with pytest.raises(NotApplied):
        queue.take("q0", "0-1")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ('"job": "another", "token": attempt', "job 'another', which nobody has submitted"),
        ('"job": job', "`token` is missing"),
        ('"token": attempt', "`job` is missing: the name of a job that was submitted"),
    ],
)
def test_an_unusable_take_is_unknown(begin: Any, answer: str, problem: str) -> None:
    queue = queue_of(begin('"job": job, "token": attempt', answer))
    queue.submit("q0", "q0-0", time.monotonic_ns())

    with pytest.raises(Unknown) as caught:
        queue.take("q0", "0-1")

    assert problem in str(caught.value).replace('"', "'")


def test_nothing_is_executed_once_the_program_has_ended(begin: Any) -> None:
    program = begin()
    queue = queue_of(program)
    assert queue.is_executing

    program.close()

    assert not queue.is_executing


@pytest.mark.slow
def test_a_correct_queue_fits_every_check(begin: Any) -> None:
    checks = list(queue_checks(begin(), begin(), TTL, fenced=True))

    assert [check for check in checks if not check.fits] == []
    assert checks[-1].found.startswith("begun again after ")


@pytest.mark.slow
@pytest.mark.parametrize("idle", [0, 1])
def test_a_library_may_give_each_job_to_one_worker(begin: Any, idle: int) -> None:
    takes_none = ("self.database.execute(TAKE, values).fetchall()", "()")
    first, second = (begin(*takes_none) if each == idle else begin() for each in (0, 1))

    wrong = [check for check in queue_checks(first, second, TTL, fenced=True) if not check.fits]

    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "request_of_it", "found"),
    [
        ("AND due <= :now ", "", "take of a job that is due later", "before it was due"),
        ("AND ends <= :now ", "", "take of a job that is being executed", "ok; expected failed"),
        ('(not request["failed"], ', "(False, ", "take after the job was completed", "ok; expected failed"),
        ("done.rowcount", "False", "complete", "failed (another attempt has it); expected ok"),
        ('"token": attempt', '"token": None', "take", "this lock gives no fencing token"),
    ],
)
def test_a_queue_with_one_mistake_is_named(
    begin: Any, old: str, new: str, request_of_it: str, found: str
) -> None:
    first = begin(old, new)

    wrong = [check for check in queue_checks(first, begin(old, new), 60_000, fenced=True) if not check.fits]

    assert wrong[0].request == request_of_it
    assert found in wrong[0].found
