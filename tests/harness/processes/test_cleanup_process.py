"""What outlives the harness cleans up after it, and interrupts while it does."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from harness.processes.cleanup_process import continued_at_end, healed_at_end
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.process_tree import is_stopped, stop_all
from tests.support.waiting import PATIENCE, wait_for

HEALS = """
import sys, time
from harness.processes.cleanup_process import healed_at_end
with healed_at_end(["touch", sys.argv[1]], 30):
    print("in force", flush=True)
    time.sleep(600)
"""
STOPS = """
import sys, time, psutil
from harness.processes.cleanup_process import continued_at_end
from harness.processes.process_tree import stop_all
process = psutil.Process(int(sys.argv[1]))
with continued_at_end([process]):
    stop_all(process)
    print("in force", flush=True)
    time.sleep(600)
"""


@contextmanager
def killed(harness: str, argument: str) -> Iterator[None]:
    """Run a script as the harness until it says that its fault is in force; after the block, kill it."""
    words = [sys.executable, "-c", harness, argument]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in force\n"
        yield
        process.kill()


@pytest.fixture
def sleeping() -> Iterator[psutil.Process]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield psutil.Process(process.pid)
        process.kill()


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

    with killed(HEALS, str(file)):
        assert not file.exists()

    assert wait_for(file.exists)


def test_a_stopped_process_continues_if_its_block_fails(sleeping: psutil.Process) -> None:
    assert stop_all(sleeping)

    with pytest.raises(ZeroDivisionError), continued_at_end([sleeping]):
        raise ZeroDivisionError

    assert not is_stopped(sleeping)


def test_a_stopped_process_continues_if_the_harness_is_killed(sleeping: psutil.Process) -> None:
    with killed(STOPS, str(sleeping.pid)):
        assert is_stopped(sleeping)

    assert wait_for(lambda: not is_stopped(sleeping))


def test_ctrl_c_is_raised_at_the_end_of_the_block() -> None:
    reached = []

    def interrupted() -> None:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_unhandled_signal_still_ends_the_process() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with deferred_interrupts():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_thread_is_never_interrupted() -> None:
    handlers = []

    def work() -> None:
        with deferred_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert handlers == [signal.default_int_handler]
