"""Client programs that leave orphans and daemons behind."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
from psutil import Process

from harness.clients.process import ClientTask
from harness.processes.program import ProgramCommand
from tests.support.systems import lock_settings, storage_settings
from workloads.run import Schedule

LEAVES_ONE = """
import json, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True, stdout=subprocess.DEVNULL)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "outcome": "ok"}), flush=True)
time.sleep(60)
"""
LEAVES_A_DAEMON = """
import json, os, sys
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(os.open(os.path.join({folder!r}, str(os.getpid())), os.O_CREAT))
        os.write(writing, b"!")
        for each in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), each)
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {{}})
    os._exit(0)
os.read(reading, 1)
for line in sys.stdin:
    request = json.loads(line)
    done = "unsupported" if request["op"] == "committed" else "ok"
    print(json.dumps({{"id": request["id"], "outcome": done}}), flush=True)
"""


def task(run_id: str) -> ClientTask:
    return ClientTask(
        seed=1,
        resources=("r0",),
        places=("r0",),
        workload="register",
        schedule=Schedule(every=1, duration=1),
        most_writes=1,
        think_time=(0.001, 0.002),
        lock=lock_settings("client", []),
        storage=storage_settings("client", []),
        command=ProgramCommand.of_run(("sh", "-c", f"{sys.executable} -c '{LEAVES_ONE}'; true"), run_id),
    )


def offspring(processes: Any) -> list[Process]:
    """Return the shell, the program and its orphan, of each client."""
    found = [each for process in processes for each in psutil.Process(process.pid).children(recursive=True)]
    return found if len(found) == 3 * len(processes) else []


def leaving_daemons(folder: Path, run_id: str) -> ClientTask:
    source = LEAVES_A_DAEMON.format(folder=str(folder / "daemons"))
    return replace(task(run_id), command=ProgramCommand.of_run((sys.executable, "-c", source), run_id))
