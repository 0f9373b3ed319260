"""`fencepost run`: without faults, and interrupted."""

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from tests.support.command import DEADLINE, FENCEPOST
from tests.support.repository import ROOT

SHORT = ["--engine", "local", "--set", "lock.nodes=1", "--set", "workload.duration=6s"]


@pytest.mark.usefixtures("local_engine")
class TestRun:
    @pytest.mark.slow
    def test_a_run_without_faults_is_not_exercised(self, fencepost: Any, tmp_path: Path) -> None:
        short = ["--set", "workload.duration=3s"]  # too short for faults
        words = ["run", "etcd-postgres", *SHORT, *short, "--no-faults", "--format", "json", "--seed", "7"]
        done = fencepost(*words, stdin=subprocess.DEVNULL)

        assert done.returncode == 2, done.stderr
        document = json.loads(done.stdout)
        jsonschema.validate(document, schemas.schemas()["verdict"])
        assert any("not exercised" in reason for reason in document["reasons"])
        newest = tmp_path / "runs" / "etcd-postgres" / "latest"
        assert json.loads((newest / "verdict.json").read_text()) == document
        header = (newest / "history.jsonl").read_text().splitlines()[0]
        assert json.loads(header)["seed"] == 7
        assert "target.toml --seed 7 --engine local --no-faults\n" in done.stderr
        again = fencepost("recheck", "etcd-postgres", "--format", "json")
        assert "target.toml --seed 7 --engine local --no-faults\n" in again.stderr
        assert again.returncode == 2
        assert json.loads(again.stdout)["anomalies"] == document["anomalies"]

    def test_ctrl_c_ends_the_run_and_the_recording_is_judged(self, tmp_path: Path) -> None:
        command = [*FENCEPOST, "run", "etcd-postgres", "--engine", "local", "--set", "workload.duration=60s"]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        hangs = threading.Timer(DEADLINE, process.kill)
        hangs.start()
        lines = []
        with process:
            for line in process.stdout:
                lines.append(line)
                if line.startswith("  running"):
                    process.send_signal(signal.SIGINT)
            errors = process.stderr.read()
        hangs.cancel()

        assert process.returncode == 130, errors
        assert any(re.search(r"(?i)interrupted at [0-9.]+ of 60 s", line) for line in lines), errors
        assert "  interrupted: stopping the clients, then judging the recording\n" in lines
        assert "Traceback" not in errors
        assert (tmp_path / "runs" / "etcd-postgres" / "latest" / "verdict.json").is_file()
