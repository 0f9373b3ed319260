"""The fork server leaves nothing behind, however the harness ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import wait_for

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
