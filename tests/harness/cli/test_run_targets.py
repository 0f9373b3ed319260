import io
from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.cli.run_targets import run_all
from harness.core.errors import InfrastructureError
from harness.core.exit_codes import ExitCode
from harness.run.runner import RunOptions
from harness.target import load


class InterruptedEngine:
    """An engine that the user interrupts after some events."""

    name = "interrupted"

    def __init__(self, *recorded: Any) -> None:
        self.recorded = recorded

    def refusal(self, _topology: Any) -> None:
        return None

    def start(self, _topology: Any, _run_id: Any, folder: Path, _notify: Any) -> NoReturn:
        for name in self.recorded:
            (folder / "events" / name).write_text('{"an": "event"}\n')
        raise KeyboardInterrupt


class BrokenEngine:
    """An engine whose servers do not start."""

    name = "broken"

    def refusal(self, _topology: Any) -> None:
        return None

    def start(self, *_anything: Any) -> None:
        raise InfrastructureError("etcd-1 does not start")


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a target that is interrupted; return the exit code and the output."""
    monkeypatch.chdir(tmp_path)

    def run(*recorded: Any) -> tuple[ExitCode, str]:
        options = RunOptions(seed=7, faults=False, runs=tmp_path / "runs", command=("fencepost",))
        engine = InterruptedEngine(*recorded)
        code = run_all([load("etcd-postgres")], engine, options, text=io.StringIO(), judged=print)
        return code, capsys.readouterr().err

    return run


def test_an_unjudged_run_says_how_to_judge_it(interrupted: Any) -> None:
    code, said = interrupted("client-0.jsonl")

    assert code is ExitCode.INTERRUPTED
    assert said.startswith(
        "etcd-postgres: interrupted before the verdict; "
        "judge the recording with: fencepost recheck runs/etcd-postgres/"
    )


def test_a_run_without_events_is_only_interrupted(interrupted: Any) -> None:
    assert interrupted() == (ExitCode.INTERRUPTED, "etcd-postgres: interrupted\n")


def test_an_infrastructure_failure_is_reported_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = RunOptions(seed=7, faults=False, runs=tmp_path / "runs", command=("fencepost",))

    code = run_all([load("etcd-postgres")], BrokenEngine(), options, text=io.StringIO(), judged=print)

    assert code is ExitCode.INFRASTRUCTURE
    assert capsys.readouterr().err == "etcd-postgres: infrastructure failure: etcd-1 does not start\n"
