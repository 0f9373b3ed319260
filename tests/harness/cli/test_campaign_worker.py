"""A campaign asks a worker for runs, and gets what each found or why it failed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.execution import RunAnswer, answer_in, unanswered
from harness.cli import campaign_worker
from harness.core.errors import EngineUnavailableError
from harness.core.exit_codes import ExitCode
from tests.support.repository import ROOT


def answers(target: str, tmp_path: Path) -> list[Any]:
    request = json.dumps({"target": target, "seed": 1, "runs": str(tmp_path), "log": ""})
    answered = io.StringIO()
    campaign_worker.make_runs("local", None, io.StringIO(f"{request}\n" * 2), answered)
    return [answer_in(line.encode()) for line in answered.getvalue().splitlines()]


def test_a_wrong_target_is_answered_with_its_sentence(tmp_path: Path) -> None:
    answered = answers("no-such-target", tmp_path)

    assert [each.code for each in answered] == [ExitCode.CONFIGURATION] * 2
    assert all(each.error.startswith("unknown target no-such-target") for each in answered)


def test_an_engine_that_cannot_be_used_is_the_error_of_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(*_: object) -> None:
        raise EngineUnavailableError("no Docker engine answers", "start it")

    monkeypatch.setattr(campaign_worker, "choose", choose)

    assert answers("etcd-postgres", tmp_path) == [RunAnswer(code=3, error="no Docker engine answers")] * 2


def test_half_an_answer_is_none() -> None:
    assert answer_in(b'{"code": 0, "verd') is None
    assert answer_in(b"") is None


def test_a_process_without_an_answer_never_passed() -> None:
    assert unanswered(0).code == ExitCode.INFRASTRUCTURE
    assert unanswered(-9).code == -9


def test_what_a_class_prints_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import os\nos.write(1, b'{}\\n')\nprint('loud', flush=True)\nclass Lock: ...\n"
    )
    (tmp_path / "t.toml").write_text(
        'name = "t"\nexpect = "valid"\n[lock]\nkind = "loud:Lock"\n'
        '[storage]\nkind = "sqlite"\nfencing = "conditional-update"\n'
    )
    request = {"target": "t.toml", "seed": 1, "runs": str(tmp_path / "runs"), "log": ""}

    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", "campaign", "worker", "--engine", "local"],
        input=json.dumps(request) + "\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    answer = answer_in(done.stdout.encode())
    assert answer is not None, done.stdout
    assert answer.code == ExitCode.CONFIGURATION
    assert "lock.kind" in answer.error
    assert "loud\n" in done.stderr
