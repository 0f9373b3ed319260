import io
from contextlib import contextmanager

import pytest

from harness.errors import InfrastructureError
from harness.exit_codes import ExitCode
from harness.run import RunOptions
from harness.running import run_all
from harness.target import load


class InterruptedEngine:
    """Something has happened already when the user has had enough, for good."""

    name = "interrupted"

    def __init__(self, *recorded):
        self.recorded = recorded

    def refusal(self, _topology):
        return None

    @contextmanager
    def start(self, _topology, _run_id, folder, _notify):
        for name in self.recorded:
            (folder / "events" / name).write_text('{"an": "event"}\n')
        raise KeyboardInterrupt
        yield


class BrokenEngine:
    """An engine whose servers do not start."""

    name = "broken"

    def refusal(self, _topology):
        return None

    def start(self, *_anything):
        raise InfrastructureError("etcd-1 does not start")


@pytest.fixture
def interrupted(tmp_path, monkeypatch, capsys):
    """Run a target that is interrupted; return the exit code and what is told of it."""
    monkeypatch.chdir(tmp_path)

    def run(*recorded):
        options = RunOptions(seed=7, faults=False, runs=tmp_path / "runs", command=("fencepost",))
        engine = InterruptedEngine(*recorded)
        code = run_all([load("etcd-postgres")], engine, options, text=io.StringIO(), judged=print)
        return code, capsys.readouterr().err

    return run


def test_a_run_that_was_not_judged_says_how_to_judge_it(interrupted):
    code, told = interrupted("client-0.jsonl")

    assert code is ExitCode.INTERRUPTED
    assert told.startswith(
        "etcd-postgres: interrupted before it was judged; "
        "judge what it saw with: fencepost recheck runs/etcd-postgres/"
    )


def test_a_run_that_saw_nothing_is_only_interrupted(interrupted):
    assert interrupted() == (ExitCode.INTERRUPTED, "etcd-postgres: interrupted\n")


def test_an_infrastructure_failure_says_that_it_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = RunOptions(seed=7, faults=False, runs=tmp_path / "runs", command=("fencepost",))

    code = run_all([load("etcd-postgres")], BrokenEngine(), options, text=io.StringIO(), judged=print)

    assert code is ExitCode.INFRASTRUCTURE
    assert capsys.readouterr().err == "etcd-postgres: infrastructure failure: etcd-1 does not start\n"
