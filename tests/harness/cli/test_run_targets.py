import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.cli import run_targets
from harness.cli.run_targets import run_all
from harness.core.errors import InfrastructureError
from harness.core.events import Event
from harness.core.exit_codes import ExitCode
from harness.engines.engine import Engine, Refusal
from harness.network.topology import Topology
from harness.run import deployment
from harness.run.runner import RunOptions
from harness.spec import Target, load
from tests.support.missing import need
from tests.support.recorded_runs import Unpack
from tests.support.report_folder import text_of
from tests.support.reported_runs import judged_as


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


class SlowToStopEngine:
    """An engine that is interrupted while its servers start, and then has to stop them."""

    name = "slow"

    def __init__(self, text: io.StringIO) -> None:
        self.text = text
        self.said_before_stopping = ""

    def refusal(self, _topology: Any) -> None:
        return None

    @contextmanager
    def start(self, *_anything: Any) -> Iterator[Any]:
        try:
            signal.raise_signal(signal.SIGINT)
            yield
        finally:
            self.said_before_stopping = self.text.getvalue()


class BrokenEngine:
    """An engine whose servers do not start."""

    name = "broken"

    def refusal(self, _topology: Any) -> None:
        return None

    def start(self, *_anything: Any) -> None:
        raise InfrastructureError("etcd-1 does not start", "  | no disk", heading="its last log lines:")


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
    assert said.startswith("etcd-postgres: interrupted\n  The clients recorded operations until then")
    assert "\n  judge it     fencepost recheck runs/etcd-postgres/" in said


def test_a_run_interrupted_at_its_start_says_what_is_in_its_folder(interrupted: Any, tmp_path: Path) -> None:
    code, said = interrupted()

    first, second, third = said.splitlines()
    assert code is ExitCode.INTERRUPTED
    assert first == "etcd-postgres: interrupted"
    assert second == (
        "  No client recorded an operation, so there is nothing to judge; you can delete the folder."
    )
    assert third.startswith("  run folder   runs/etcd-postgres/2")
    assert third.endswith(" (no verdict; it has target.toml, header.json)")
    assert "No verdict: interrupted before the verdict" in page_of(tmp_path / "runs")


def test_an_interrupt_is_said_before_anything_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = RunOptions(seed=7, faults=False, runs=tmp_path / "runs")
    text = io.StringIO()
    engine = SlowToStopEngine(text)
    handler = signal.getsignal(signal.SIGINT)

    code = run_all([load("etcd-postgres")], engine, options, text=text, judged=print)

    assert code is ExitCode.INTERRUPTED
    *_, starting, interrupted = engine.said_before_stopping.splitlines()
    assert starting.startswith("  starting: ")
    assert interrupted == "  interrupted: stopping what was started"
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_infrastructure_failure_is_reported_and_leaves_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = RunOptions(seed=7, runs=tmp_path / "runs", again=("--engine", "local"))

    failed: list[str] = []

    code = run_all(
        [load("etcd-postgres")],
        BrokenEngine(),
        options,
        text=io.StringIO(),
        judged=print,
        failed=failed.append,
    )

    assert code is ExitCode.INFRASTRUCTURE
    assert failed == ["etcd-1 does not start"]
    first, log, then, *_ = capsys.readouterr().err.splitlines()
    assert first == "etcd-postgres: infrastructure failure: etcd-1 does not start; its last log lines:"
    assert log == "  | no disk"
    assert then.startswith("  No client ")
    page = page_of(tmp_path / "runs")
    assert "No verdict: infrastructure failure" in page
    assert "etcd-1 does not start" in page
    assert "target.toml the target that was run" in page
    assert "target.toml --seed 7 --engine local" in page
    assert "fencepost doctor" in page


@dataclass(frozen=True)
class LeavingEngine:
    """An engine that does not get rid of its servers."""

    engine: Engine
    name = "leaving"

    def refusal(self, topology: Topology) -> Refusal | None:
        return self.engine.refusal(topology)

    @contextmanager
    def start(self, *arguments: Any) -> Iterator[Any]:
        with self.engine.start(*arguments) as cluster:
            yield cluster
        raise InfrastructureError("Docker did not remove container etcd-1")


@pytest.mark.slow
@pytest.mark.engine
def test_a_failed_removal_after_the_verdict_is_reported(
    local_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    target = load("redis-sqlite", ["workload.duration=1s"], faults=False)
    need(local_engine, deployment.topology(target, ()))
    options = RunOptions(seed=7, faults=False, runs=tmp_path / "runs")
    verdicts: list[Any] = []

    code = run_all([target], LeavingEngine(local_engine), options, text=io.StringIO(), judged=verdicts.append)

    said = "redis-sqlite: infrastructure failure: Docker did not remove container etcd-1\n"
    assert code is ExitCode.INFRASTRUCTURE
    assert len(verdicts) == 1
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("verbose", "stories"), [(False, 1), (True, 3)])
def test_of_several_runs_only_what_is_not_as_expected_is_told(
    recorded_run: Unpack, monkeypatch: pytest.MonkeyPatch, verbose: bool, stories: int
) -> None:
    def recorded(target: Target, *_anything: Any) -> Iterator[Event]:
        name = "not-exercised" if target.name == "redis-sqlite" else target.name
        yield judged_as(target, recorded_run(name))

    monkeypatch.setattr(run_targets, "run", recorded)
    names = ["etcd-postgres-unfenced", "redis-sqlite", "etcd-postgres"]
    text = io.StringIO()
    options = RunOptions(seed=7, runs=Path("unused"))

    code = run_all(
        [*map(load, names)], BrokenEngine(), options, verbose=verbose, text=text, judged=lambda _: None
    )

    said = text.getvalue()
    assert code is ExitCode.UNKNOWN
    assert said.count("\n  What to do: ") == stories
    assert [line.split()[0] for line in said.splitlines()[-3:]] == names
    for headline in ("Found as planned: ", "Not tested: ", "The fence held: "):
        assert said.count(f"  {headline}") == 2


def page_of(runs: Path) -> str:
    return text_of(runs / "etcd-postgres" / "latest" / "report.html")
