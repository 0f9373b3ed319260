"""No program, child process, orphan or daemon outlives its client, its block or the harness."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from signal import Signals
from typing import Any

import psutil
import pytest
from psutil import Process

from harness.clients import pool
from harness.clients.admin import AdminClient
from harness.processes.cleanup_process import programs_killed_at_end
from harness.processes.process_tree import is_stopped
from tests.support.orphans import leaving_daemons, offspring, task
from tests.support.selection import slow
from tests.support.waiting import wait_for
from workloads.line_protocol.program_client import start_fields


def gone(processes: list[Process]) -> bool:
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


def test_no_program_or_child_process_outlives_the_block(folder: Path, run_id: str) -> None:
    with programs_killed_at_end(run_id), pool.started(2, 1, 0, folder) as started:
        started.get_ready(lambda _client: task(run_id))
        assert wait_for(lambda: offspring(started.processes))
        everybody = offspring(started.processes)
        everybody[0].suspend()

    assert gone(everybody)


UNTIL_KILLED = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from harness.clients.pool import started
from harness.processes.cleanup_process import programs_killed_at_end
from tests.support.orphans import offspring, task
from tests.support.selection import slow

if __name__ == "__main__":
    with programs_killed_at_end({run_id!r}), started(2, 1, 0, Path({folder!r})) as clients:
        clients.get_ready(lambda _client: task({run_id!r}))
        while not offspring(clients.processes):
            time.sleep(0.01)
        print(*[each.pid for each in offspring(clients.processes)], flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_no_program_or_child_outlives_a_killed_harness(folder: Path, run_id: str, deadly: Signals) -> None:
    script = folder / "harness_that_is_killed.py"
    script.write_text(textwrap.dedent(UNTIL_KILLED).format(path=sys.path, run_id=run_id, folder=str(folder)))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as harness:
        everybody = [psutil.Process(int(pid)) for pid in harness.stdout.readline().split()]
        everybody[1].suspend()
        assert wait_for(lambda: is_stopped(everybody[1]))

        harness.send_signal(deadly)

        assert len(everybody) == 6
        assert wait_for(lambda: gone(everybody))


def sleeps(process: psutil.Process) -> bool:
    """Is it running as the daemon?"""
    with suppress(psutil.Error):
        return process.cmdline()[-1:] == ["import time; time.sleep(600)"]
    return False


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[Callable[[], list[Any]]]:
    """Return the daemons that programs have started so far: forked twice, without an environment."""
    (tmp_path / "daemons").mkdir()
    seen: dict[Any, Any] = {}

    def look() -> list[Any]:
        for file in (tmp_path / "daemons").iterdir():
            with suppress(psutil.NoSuchProcess):
                seen.setdefault(file.name, psutil.Process(int(file.name)))
        return [each for each in seen.values() if sleeps(each)]

    yield look
    for each in look():
        each.kill()


def test_no_daemon_outlives_the_block(folder: Path, run_id: str, daemons: Callable[[], list[Any]]) -> None:
    with programs_killed_at_end(run_id), pool.started(2, 1, 0, folder) as started:
        started.get_ready(lambda _client: leaving_daemons(folder, run_id))
        assert wait_for(lambda: len(daemons()) == 2)

    assert daemons() == []


def test_no_daemon_of_a_killed_client_outlives_the_block(
    folder: Path, run_id: str, daemons: Callable[[], list[Any]]
) -> None:
    with programs_killed_at_end(run_id), pool.started(1, 1, 0, folder) as started:
        started.get_ready(lambda _client: leaving_daemons(folder, run_id))
        assert wait_for(lambda: len(daemons()) == 1)
        os.kill(started.processes[0].pid, signal.SIGKILL)
        assert wait_for(lambda: started.processes[0].exitcode is not None)

    assert daemons() == []


def test_no_daemon_outlives_the_harness(folder: Path, run_id: str, daemons: Callable[[], list[Any]]) -> None:
    asked = leaving_daemons(folder, run_id)
    fields = start_fields(None, asked.lock, asked.storage)
    admin = AdminClient(command=asked.command, start_fields=fields, log=folder / "logs" / "program.log")

    admin.set_up(["r0"])
    assert admin.committed(recorded=0) is None

    assert len(list((folder / "daemons").iterdir())) == 2
    assert daemons() == []


WITH_DAEMONS_UNTIL_KILLED = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from harness.clients.pool import started
from harness.processes.cleanup_process import programs_killed_at_end
from tests.support.orphans import leaving_daemons

if __name__ == "__main__":
    folder = Path({folder!r})
    with programs_killed_at_end({run_id!r}), started(2, 1, 0, folder) as clients:
        clients.get_ready(lambda _client: leaving_daemons(folder, {run_id!r}))
        print("ready", flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("deadly", [signal.SIGKILL, *slow(signal.SIGTERM)])
def test_no_daemon_outlives_a_killed_harness(
    folder: Path, run_id: str, daemons: Callable[[], list[Any]], deadly: Signals
) -> None:
    script = folder / "harness_that_is_killed.py"
    script.write_text(WITH_DAEMONS_UNTIL_KILLED.format(path=sys.path, run_id=run_id, folder=str(folder)))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout.readline() == "ready\n"
        assert wait_for(lambda: len(daemons()) == 2)
        daemons()[0].suspend()

        harness.send_signal(deadly)

        assert wait_for(lambda: daemons() == [])
