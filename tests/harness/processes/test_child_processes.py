"""Child processes: owned, refused where they do not start, and cleaned up after."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness.engines import cleanup
from harness.processes import ownership, run_notes
from harness.processes.cleanup_process import companion, continued_at_end, healed_at_end
from harness.processes.deferred_interrupts import deferred_interrupts
from harness.processes.ownership import Life, Owner
from harness.processes.process_tree import is_stopped, stop_all
from harness.processes.program import missing
from harness.processes.script import run
from tests.support.waiting import PATIENCE, wait_for

SLOW_TO_END = "import sys, time; sys.stdin.read(); time.sleep(1)"  # longer than Popen waits after Ctrl-C


@pytest.mark.slow
@pytest.mark.parametrize("ends", [KeyboardInterrupt, ValueError])
def test_a_companion_has_ended_when_its_block_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    (tmp_path / "slow_to_end.py").write_text(SLOW_TO_END)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ends), companion("slow_to_end") as process:
        raise ends

    assert process.returncode == 0


HARNESS = """
import threading
from harness.processes import fork_server

fork_server.started([])
for _ in range(16):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
memory = bytes(1) * 200_000_000  # it takes a moment to free
print("started", flush=True)
input()
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_the_folder_of_its_socket_goes_with_the_harness(tmp_path: Path, *, is_killed: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "started\n"
        assert list(tmp_path.iterdir())
        if is_killed:
            harness.kill()
        else:
            harness.communicate("\n")

    assert wait_for(lambda: not list(tmp_path.iterdir()))


def test_the_folder_goes_if_the_harness_ends_before_its_server_is_ready(tmp_path: Path) -> None:
    (tmp_path / "sockets").mkdir()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    server = "from harness.processes import fork_server; fork_server.socket_folder_remover()()"
    known = {"FENCEPOST_SOCKETS": f"{ended.pid}:{tmp_path / 'sockets'}"}
    subprocess.run([sys.executable, "-c", server], env=os.environ | known, check=True)

    assert list(tmp_path.iterdir()) == []


def test_a_command_ends_with_its_status_and_last_line() -> None:
    ended = run(["sh", "-c", "echo first; echo last >&2; exit 3"], PATIENCE)

    assert (ended.status, ended.said) == (3, "last")
    assert str(ended) == "`sh -c 'echo first; echo last >&2; exit 3'` ended with status 3: last"


@pytest.mark.slow
def test_a_command_is_killed_with_its_children_at_its_deadline() -> None:
    ended = run(["sh", "-c", "sleep 600 & echo $!; wait"], 3)

    assert ended.status is None
    assert "did not end in time" in str(ended)
    assert wait_for(lambda: not psutil.pid_exists(int(ended.said)))


def test_a_program_that_does_not_exist_has_a_status_too() -> None:
    assert run(["no-such-program"], 1).status == 127


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("./lock.py", "./lock.py is not executable: run chmod +x ./lock.py"),
        (
            "lock.py",
            "there is no executable program lock.py on PATH; for the file in the current folder write ./lock.py",
        ),
        ("./folder", "folder is a folder, not a program"),
        ("./none", "there is no executable program ./none from the current folder, {here}"),
        ("/none/at/all", "there is no executable program /none/at/all"),
        ("no-such-program", "there is no executable program no-such-program on PATH"),
    ],
)
def test_a_command_that_cannot_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.py").write_text("")
    (tmp_path / "folder").mkdir()

    assert missing((word,)) == why.format(here=tmp_path)


def test_an_executable_file_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.sh").touch(mode=0o755)

    assert missing(("./lock.sh",)) is None


US = ownership.this_process()
NAME, NAMESPACE, BOOT = US.host.split("/")


def test_marks_are_read_back() -> None:
    marks = US.marks("run-1")

    assert marks[ownership.RUN] == "run-1"
    assert ownership.owner_of(marks) == US
    assert ownership.from_environment(ownership.as_environment(marks)) == marks


@pytest.mark.parametrize(
    ("them", "life"),
    [
        (US, Life.ALIVE),
        (replace(US, started=US.started + 1), Life.DEAD),  # the pid was reused
        (replace(US, host=f"{NAME}/{NAMESPACE}/another-boot"), Life.DEAD),
        (replace(US, host=f"another-host/{NAMESPACE}/{BOOT}"), Life.ELSEWHERE),
        (replace(US, host=f"{NAME}/1/{BOOT}"), Life.ELSEWHERE),  # in another container
    ],
)
def test_an_owner_is_alive_if_pid_and_start_time_match(them: Owner, life: Life) -> None:
    assert them.life() is life


def test_a_zombie_is_dead() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, but was not waited for

        assert ownership.Owner(child.pid, ownership._start_ticks(US.pid) or 0, US.host).life() is Life.DEAD


@pytest.mark.parametrize("marks", [{}, {ownership.RUN: "by-hand", ownership.HARNESS: "by-hand"}])
def test_things_started_by_hand_have_an_unknown_owner(marks: dict[str, str]) -> None:
    assert ownership.life_of(marks) is Life.ELSEWHERE


KILLED = """
import os, signal
from harness.processes.run_notes import temporary_folder
with temporary_folder():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty; notes lie beside it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder))
    return folder


def test_a_temporary_folder_goes_with_its_block(temporary: Path) -> None:
    with run_notes.temporary_folder() as folder:
        (folder / "file").write_text("something")
        assert [note.paths for note in run_notes.read_notes().read] == [(folder,)]

    assert list(temporary.iterdir()) == []
    assert list(run_notes.read_notes().read) == []


def test_the_temporary_folder_of_a_killed_process_is_swept(temporary: Path) -> None:
    environment = os.environ | {"TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert len(list(temporary.iterdir())) == 1

    assert cleanup.sweep() == cleanup.Sweep()

    assert list(temporary.iterdir()) == []
    assert list(run_notes.read_notes().read) == []


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
