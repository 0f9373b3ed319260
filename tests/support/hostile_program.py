"""A client's program that misbehaves in one way: `hostile_program.py HOW [REQUEST [TAG]]`.

It answers properly until the first REQUEST ("acquire"), and `reconnect` always. With a TAG, which is a
folder, it and all that it forks hold a lock on the file `alive` there.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MIB = 2**20
HELD = (
    "import os, signal, time; [signal.signal(each, signal.SIG_IGN) for each in (1, 2, 15)]; time.sleep(600)"
)


def say(**fields: Any) -> None:
    os.write(1, json.dumps(fields).encode() + b"\n")


def flood(descriptor: int, text: bytes) -> None:
    chunk = text * (MIB // len(text))
    while True:
        os.write(descriptor, chunk)


def garbage(_request: Any) -> None:
    os.write(1, b"\x00\xff\x1b[2J{[}\n" + b'{"id":' * 1000 + b"\n")


def forks(_request: Any) -> None:
    """Leave grandchildren in sessions of their own, without our marks, that hold the pipes; then end."""
    for _ in range(3):
        subprocess.Popen([sys.executable, "-c", HELD, *sys.argv[3:]], env={}, start_new_session=True)
    os._exit(7)


def never_ends_forking(_request: Any) -> None:
    """Change the process all the time: each forks the next one and ends; for two minutes, if it is let."""
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        if os.fork():
            os._exit(0)
        os.setsid()


def flood_stdout(_request: Any) -> None:
    flood(1, b"a line of garbage\n")


def flood_stderr(_request: Any) -> None:
    flood(2, b"a line of garbage\n")


def flood_commits(request: Any) -> None:
    """Report commits without end."""
    line = {"id": request["id"], "event": "commit", "resource": "r0", "token": 1, "value": "x"}
    flood(1, json.dumps(line).encode() + b"\n")


def endless_line(_request: Any) -> None:
    flood(1, b"x")


def endless_error_line(_request: Any) -> None:
    for _ in range(100):
        os.write(2, b"x" * MIB)
    os._exit(7)


def main() -> None:
    how: Callable[[Any], None] = globals()[sys.argv[1]]
    begin = sys.argv[2] if len(sys.argv) > 2 else "acquire"  # the first request that it misuses
    if len(sys.argv) > 3:
        fcntl.flock(os.open(f"{sys.argv[3]}/alive", os.O_CREAT | os.O_RDWR), fcntl.LOCK_SH)
    misbehaves = False
    for line in sys.stdin:
        request = json.loads(line)
        misbehaves = misbehaves or request["op"] == begin
        if misbehaves and request["op"] != "reconnect":
            how(request)
        else:
            say(id=request["id"], outcome="unsupported" if request["op"] == "committed" else "ok")


if __name__ == "__main__":
    main()
