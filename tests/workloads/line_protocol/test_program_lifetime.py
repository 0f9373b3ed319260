"""Start, restart and end of a program, and pauses of it with its client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from typing import Any

import psutil
import pytest

from harness.nemesis.pause import pause
from harness.processes.process_tree import is_stopped
from harness.processes.program import ProgramCommand
from tests.support.client_programs import command_of, lock_of, storage_of
from tests.support.waiting import PATIENCE, wait_for
from workloads.client import Unknown
from workloads.line_protocol.clients import ProgramStorage
from workloads.line_protocol.pipe import MAX_LINE
from workloads.line_protocol.program_client import ProgramError


def test_the_end_of_a_program_is_unknown_and_a_new_one_answers_next(speak: Any) -> None:
    storage = storage_of(
        speak('os._exit(3) if op == "write" else say(id=number, outcome="ok", value=None, token=0)')
    )

    with pytest.raises(Unknown, match="the program ended with"):
        storage.write("r0", 5, "0-1.0", lambda: None)
    storage.reconnect()

    assert storage.read("r0") == (None, 0)


@pytest.mark.slow
def test_a_program_that_does_not_reconnect_is_killed_and_restarted(speak: Any) -> None:
    client = speak(
        """
        if op == "write":
            time.sleep(600)
        say(id=number, outcome="ok", value=str(os.getpid()), token=0)
        """
    )
    storage = storage_of(client)
    first = int(storage.read("r0")[0])
    with pytest.raises(Unknown):
        storage.write("r0", 5, "0-1.0", lambda: None)

    assert client.reconnect("storage")

    assert int(storage.read("r0")[0]) != first
    assert not psutil.pid_exists(first)


@pytest.mark.parametrize("end", ["", "\\n"], ids=["endless", "complete"])
def test_a_program_is_restarted_after_a_line_that_is_too_long(speak: Any, end: str) -> None:
    client = speak(
        f"""
        if op == "write":
            sys.stdout.write("x" * {MAX_LINE + 1} + "{end}")
            sys.stdout.flush()
            continue
        say(id=number, outcome="ok", value=str(os.getpid()), token=0)
        """,
        PATIENCE,
    )
    storage = storage_of(client)
    first = int(storage.read("r0")[0])
    with pytest.raises(Unknown, match="a line of more than"):
        storage.write("r0", 5, "0-1.0", lambda: None)

    storage.reconnect()

    assert int(storage.read("r0")[0]) != first
    assert not psutil.pid_exists(first)


def test_a_program_that_reconnects_is_left_as_it_is(speak: Any) -> None:
    client = speak('say(id=number, outcome="ok", value=str(os.getpid()), token=0)')
    first = client.request("read")["value"]

    assert not client.reconnect("lock")

    assert client.request("read")["value"] == first


def test_the_lock_of_a_killed_program_is_recorded_as_released(speak: Any) -> None:
    client = speak(
        """
        if op == "acquire":
            say(id=number, outcome="ok", token=5, ttl_ms=2000)
        """
    )
    lock, memory = lock_of(client)
    storage = ProgramStorage(client, lock.restarted)
    lock.acquire("r0", "0-1")
    with pytest.raises(Unknown):
        storage.write("r0", 5, "0-1.0", lambda: None)

    os.kill(client._program.process.pid, signal.SIGKILL)
    storage.reconnect()

    assert [(event["type"], event["f"], event["owner"]) for event in memory.events] == [
        ("invoke", "release", "0-1"),
        ("info", "release", "0-1"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import sys; sys.exit(7)", "closed its standard.*ended with status 7"),
        ("print('hello', flush=True); input(); input()", "the program said hello: .*; it still runs"),
        (
            "import json, sys; print(json.dumps({'id': 1, 'outcome': 'failed', 'reason': 'no 2'}), flush=True); sys.stdin.read()",
            "no 2; it still runs",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "ended with SIGABRT"),
    ],
)
def test_a_program_that_is_never_ready_is_reported_in_one_sentence(
    speak: Any, source: str, said: str
) -> None:
    with pytest.raises(ProgramError, match=f"did not become ready: .*{said}") as caught:
        speak(command_of(source))

    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_client_stopped_with_its_program_still_receives_the_answer() -> None:
    """Both are stopped for longer than any deadline during a write."""
    script = textwrap.dedent(
        f"""
        import sys
        sys.path[:0] = {sys.path!r}
        from tests.support.client_programs import SETTINGS, program
        from workloads.line_protocol.clients import ProgramStorage
        from workloads.line_protocol.program_client import ProgramClient

        client = ProgramClient(
            program('say(id=number, event="sent"); time.sleep(0.4); say(id=number, outcome="ok")').start, SETTINGS, 0.3
        )
        ProgramStorage(client, None).write("r0", 5, "0-1.0", lambda: print("sent", flush=True))
        print("ok", flush=True)
        client.close()
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as client:
        head = psutil.Process(client.pid)
        assert client.stdout.readline() == "sent\n"

        with pause(head, "client:0"):
            stopped = [head, *head.children(recursive=True)]
            until = time.monotonic() + 3
            assert wait_for(lambda: time.monotonic() > until)
            assert len(stopped) == 2
            assert all(is_stopped(each) for each in stopped)

        assert client.stdout.readline() == "ok\n"


def test_a_program_dies_with_its_parent() -> None:
    script = textwrap.dedent(
        f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        from tests.support.client_programs import program
        print(program("pass").start().process.pid, flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as client:
        started = psutil.Process(int(client.stdout.readline()))
        assert started.is_running()
        client.kill()

    assert wait_for(lambda: not started.is_running() or started.status() == psutil.STATUS_ZOMBIE)


def test_ending_a_program_ends_its_child_processes() -> None:
    command = ProgramCommand(words=("sh", "-c", "setsid sleep 60 & exec sleep 60"), marks={})
    running = command.start()
    head = psutil.Process(running.process.pid)
    assert wait_for(lambda: len(head.children()) == 1)
    everybody = [head, *head.children()]

    assert running.process.stdout
    with closing(running.process.stdout):
        running.end()

    assert wait_for(lambda: all(not each.is_running() or each.status() == "zombie" for each in everybody))
