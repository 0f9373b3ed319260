"""Standard output: a broken pipe, a full disk, and a closed stream."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import FENCEPOST
from tests.support.repository import ROOT
from tests.support.short_histories import superseded


def run(command: list[str], folder: Path, stdout: Any = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment, check=False
    )


class TestStreams:
    def test_a_broken_pipe_ends_the_command_silently(self, tmp_path: Path) -> None:
        read, written = os.pipe()
        os.close(read)
        with os.fdopen(written, "w") as stdout:
            done = run([*FENCEPOST, "schema"], tmp_path, stdout)

        assert (done.returncode, done.stderr) == (141, "")

    def test_a_full_disk_is_reported_without_a_traceback(self, tmp_path: Path) -> None:
        with Path("/dev/full").open("w") as stdout:
            done = run([*FENCEPOST, "targets"], tmp_path, stdout)

        assert done.returncode == 3
        assert done.stderr == "this machine has run out of something: [Errno 28] No space left on device\n"

    @pytest.mark.slow
    def test_a_closed_stdout_is_not_an_error(self, history: Any, tmp_path: Path) -> None:
        file = history(superseded("fail"))
        command = " ".join([*FENCEPOST, "recheck", file, ">&-"])

        done = run(["sh", "-c", command], tmp_path)

        assert (done.returncode, done.stderr) == (0, "")
