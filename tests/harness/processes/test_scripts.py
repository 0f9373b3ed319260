"""Commands of the user, and the one that heals a fault however the harness ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.processes.healer import healed_at_end
from harness.processes.script import run
from tests.support.waiting import PATIENCE, wait_for

KILLED = """
import sys, time
from harness.processes.healer import healed_at_end
with healed_at_end(["touch", sys.argv[1]], 30):
    print("in force", flush=True)
    time.sleep(600)
"""


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


def test_healing_runs_once_and_says_how_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "healed"

    with healed_at_end(["sh", "-c", f"echo again >> {file}; exit 5"], PATIENCE) as heal:
        assert not file.exists()
        ended = heal()

    assert ended.status == 5
    assert file.read_text() == "again\n"


def test_healing_runs_if_the_block_fails(tmp_path: Path) -> None:
    file = tmp_path / "healed"

    with pytest.raises(ZeroDivisionError), healed_at_end(["touch", str(file)], PATIENCE):
        raise ZeroDivisionError

    assert file.exists()


def test_healing_runs_if_the_harness_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "healed"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "in force\n"
        assert not file.exists()
        harness.send_signal(signal.SIGKILL)

        assert wait_for(file.exists)
