"""Commands of the user that inject, observe and heal a fault."""

from __future__ import annotations

import psutil

from harness.processes.script import run
from tests.support.waiting import PATIENCE, wait_for


def test_a_command_ends_with_its_status_and_last_line() -> None:
    ended = run(["sh", "-c", "echo first; echo last >&2; exit 3"], PATIENCE)

    assert (ended.status, ended.said) == (3, "last")
    assert str(ended) == "`sh -c 'echo first; echo last >&2; exit 3'` ended with status 3: last"


def test_a_command_is_killed_with_its_children_at_its_deadline() -> None:
    ended = run(["sh", "-c", "sleep 600 & echo $!; wait"], 3)

    assert ended.status is None
    assert "did not end in time" in str(ended)
    assert wait_for(lambda: not psutil.pid_exists(int(ended.said)))


def test_a_program_that_does_not_exist_has_a_status_too() -> None:
    assert run(["no-such-program"], 1).status == 127
