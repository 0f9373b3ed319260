"""The command in processes that have imported everything before they start.

A separate process, `python -m tests.support.warm_command FD`, imports the command once, and
forks for each call: as isolated as a new process, in a tenth of the time.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.repository import ROOT

MOST = 1 << 20  # bytes of a request
NEEDED = (
    "harness.cli.app",
    "harness.cli.foreign_histories",
    "harness.cli.recheck_history",
    "harness.cli.schemas",
    "harness.engines.choice",
    "harness.report.run",
    "harness.run.show",
    "harness.spec",
    "jinja2",
)


class WarmCommand:
    """Calls the command; its process starts with the first call and ends with ours."""

    def __init__(self) -> None:
        self._calls: socket.socket | None = None

    def __call__(
        self, arguments: Sequence[str], folder: Path, environment: dict[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Call it in a folder; TimeoutExpired once the time is over."""
        calls = self._calls = self._calls or _started()
        outputs = [os.pipe(), os.pipe()]
        request = {"arguments": list(arguments), "folder": str(folder), "environment": environment}
        socket.send_fds(calls, [json.dumps(request).encode()], [write for _, write in outputs])
        for _, write in outputs:
            os.close(write)
        said = ["", ""]
        readers = [
            threading.Thread(target=_read, args=(read, said, number))
            for number, (read, _) in enumerate(outputs)
        ]
        for reader in readers:
            reader.start()
        calls.settimeout(timeout)
        try:
            code = int(calls.recv(MOST))
        except TimeoutError as error:
            self._calls = None
            calls.close()
            raise subprocess.TimeoutExpired(list(arguments), timeout) from error
        for reader in readers:
            reader.join()
        return subprocess.CompletedProcess(list(arguments), code, *said)


def _read(pipe: int, said: list[str], number: int) -> None:
    with open(pipe, encoding="utf-8", errors="surrogateescape") as stream:
        said[number] = stream.read()


def _started() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for each in (ours, theirs):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=ROOT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(calls: socket.socket) -> None:
    while True:
        request, outputs, _, _ = socket.recv_fds(calls, MOST, 2)
        if not request:
            return
        child = os.fork()
        if not child:
            calls.close()
            _become(json.loads(request), outputs)
        for each in outputs:
            os.close(each)
        _, status = os.waitpid(child, 0)
        calls.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], outputs: Sequence[int]) -> None:
    """Run the command, and end."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, each in enumerate(outputs, start=1):
        os.dup2(each, number)
        os.close(each)
    sys.path[0] = request["folder"]
    sys.argv = [str(ROOT / "harness/cli/__main__.py"), *request["arguments"]]
    code = 1
    try:
        importlib.import_module("harness.cli").main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 — as the interpreter would
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _warm_up() -> None:
    for module in NEEDED:
        importlib.import_module(module)
    commands = importlib.import_module("harness.cli.commands")
    for found in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"harness.cli.commands.{found.name}")
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _warm_up()
    _serve(socket.socket(fileno=int(sys.argv[1])))
