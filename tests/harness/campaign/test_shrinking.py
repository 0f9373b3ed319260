"""A night shrinks one run of each new fingerprint, within its budget, and only once."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.campaign import corpus, execution
from harness.campaign.assessment import Assessment, assess, run_of
from harness.campaign.campaign_file import Quarantine
from harness.campaign.canary import PREFIX
from harness.campaign.execution import LOGS, Finished
from harness.campaign.night import Night
from harness.campaign.page import render
from harness.campaign.shrinking import OUTPUT, Shrinking, sentence
from harness.campaign.summary import markdown
from harness.core.duration import NS
from harness.core.exit_codes import ExitCode
from harness.run.recheck import judge_file
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict
from tests.support.recorded_runs import Unpack
from tests.support.waiting import wait_for

LONG = """
import {imports}
print("This finding needs only 4 of 9 operations:\\n  a sentence\\n\\nrunning ever smaller targets:", flush=True)
{meanwhile}
try:
    time.sleep(300)
except KeyboardInterrupt:
    sys.exit(130)
"""
SOURCE = 'name = "nightly"\n[[cells]]\ntargets = ["a"]\n'


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands that were begun; each prints something, and goes on until it is interrupted."""
    return processes(monkeypatch, LONG.format(imports="sys, time", meanwhile=""))


def processes(monkeypatch: pytest.MonkeyPatch, program: str) -> list[Sequence[str]]:
    """Begin this program in place of every command, and return the commands."""
    found: list[Sequence[str]] = []

    def begin(arguments: Sequence[str]) -> list[str]:
        found.append(arguments)
        return [sys.executable, "-c", program]

    monkeypatch.setattr(execution, "dies_with_us", begin)
    return found


def night_of(folder: Path, *runs: Finished) -> Night:
    night = Night.create(folder / "nights", plan(*(run.job for run in runs)), SOURCE)
    for run in runs:
        (night.path / str(run.folder)).mkdir(parents=True, exist_ok=True)
        night.record(run)
    return night


def assessed(night: Night, quarantine: Sequence[Quarantine] = ()) -> Assessment:
    return assess(night.plan, night.finished(), before={}, quarantine=quarantine, today=TODAY)


def shrinking(night: Night, said: list[str], left: float | None = None, **more: Any) -> Shrinking:
    """Shrink with this many seconds left."""
    fields: dict[str, Any] = {
        "limit": 60 * NS["s"],
        "left": lambda: None if left is None else round(left * NS["s"]),
        "known": frozenset(),
        "with_servers": True,
        "corpus": None,
    }
    return Shrinking(night=night, notify=said.append, **fields | more)


def failed(name: str = "a", summary: str = "Client 0 wrote too late", **more: Any) -> Finished:
    return replace(finished(job(name), 1, verdict(summary)), **more)


def judged(run: Path) -> dict[str, Any]:
    document = judge_file(run / "history.jsonl", run / "commits.jsonl", same_run=True).document
    return document.as_dict()


@pytest.mark.slow
def test_the_history_is_shrunk_even_if_no_run_fits(recorded_run: Unpack, tmp_path: Path) -> None:
    recorded = recorded_run("etcd-postgres-unfenced")
    run = replace(finished(job("etcd-postgres-unfenced"), 1, judged(recorded)), seconds=3600.0)
    night, said = night_of(tmp_path, run), list[str]()
    folder = night.path / str(run.folder)
    folder.rmdir()
    recorded.rename(folder)

    shrinking(night, said, left=600, corpus=tmp_path / "corpus").run(assessed(night))

    (entry,) = corpus.entries(tmp_path / "corpus")
    assert said[0].startswith("shrinking: stale-write: ")
    assert re.fullmatch(
        rf"  This finding needs only 4 of [0-9]+ operations, 2 clients and 1 fault; kept in {entry}", said[1]
    )
    assert (folder / "minimal.jsonl").is_file()
    assert not (folder / "minimal.toml").exists()
    links = f'. Files: <a href="{run.folder}/minimal.jsonl">minimal.jsonl</a>'
    assert links in render(night, assessed(night), [], ExitCode.VIOLATION)
    assert "This finding needs only 4 of " in markdown(night, assessed(night))


@pytest.mark.slow
def test_it_is_interrupted_at_the_end_of_the_budget(tmp_path: Path, begun: list[Sequence[str]]) -> None:
    night, said = night_of(tmp_path, failed(seconds=0.5)), list[str]()

    shrinking(night, said, left=3).run(assessed(night))

    assert [words[0] for words in begun] == ["shrink"]
    assert begun[0][-2:] == ["--max-time", "2.500s"]  # a run of 0.5 s still ends in time
    assert said[1] == "  This finding needs only 4 of 9 operations"


def test_a_run_that_was_shrunk_is_not_shrunk_again(tmp_path: Path, begun: list[Sequence[str]]) -> None:
    night = night_of(tmp_path, failed())
    shrinking(night, [], left=1).run(assessed(night))

    shrinking(Night.read(night.path), [], left=1).run(assessed(night))

    assert len(begun) == 1


def test_nothing_begins_once_the_budget_is_used_up(tmp_path: Path, begun: list[Sequence[str]]) -> None:
    night, said = night_of(tmp_path, failed()), list[str]()

    shrinking(night, said, left=0).run(assessed(night))

    assert begun == []
    assert said == ["not shrunk, the budget is used up: stale-write: Client 0 wrote too late"]


def test_one_run_of_each_new_fingerprint_is_shrunk(tmp_path: Path, begun: list[Sequence[str]]) -> None:
    slow, fast = failed(), replace(failed(seconds=9.0), job=job(repeat=2), folder="runs/a/a-2")
    known, quarantined = failed("b"), failed("c")
    canary, passed = failed(f"{PREFIX}d"), finished(job("e"))
    unfound = finished(job("f"), 1, verdict())
    night = night_of(tmp_path, slow, fast, known, quarantined, canary, passed, unfound)
    shape, hidden = (str(run_of(each, {}).fingerprint) for each in (known, quarantined))

    skipped = Quarantine(fingerprint=hidden, reason="issue 7", until=TODAY)
    shrinking(night, [], left=1, known={shape}).run(assessed(night, [skipped]))

    assert [words[1] for words in begun] == [str(night.path / "runs/a/a-2")]


def interrupt_first_wait(monkeypatch: pytest.MonkeyPatch, begun: Path) -> list[int | None]:
    """Let Ctrl-C come once a process has begun, and return the exit code of each that was waited for."""
    wait, codes = subprocess.Popen.communicate, list[int | None]()

    def communicate(process: Any, **options: Any) -> Any:
        if wait_for(begun.exists) and process.pid not in interrupted:
            interrupted.add(process.pid)
            raise KeyboardInterrupt
        printed = wait(process, **options)
        codes.append(process.returncode)
        return printed

    interrupted: set[int] = set()
    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    return codes


def test_an_interrupted_night_shrinks_the_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch = f"open({str(tmp_path / 'begun')!r}, 'w').close()"
    begun = processes(monkeypatch, LONG.format(imports="sys, time", meanwhile=touch))
    codes = interrupt_first_wait(monkeypatch, tmp_path / "begun")
    night = night_of(tmp_path, failed())

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            shrinking(night, []).run(assessed(night))

    assert len(begun) == 2
    assert len(codes) == 2  # each was interrupted and has ended
    assert 0 not in codes
    assert sentence(night, assessed(night).runs[0]) is None


def test_a_failure_to_shrink_names_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes(monkeypatch, "import sys; sys.exit('no such run')")
    night, said = night_of(tmp_path, failed()), list[str]()

    shrinking(night, said).run(assessed(night))

    log = night.path / LOGS / "a-1-shrink.log"
    assert said[1] == f"  this failed: see {log}"
    assert log.read_text() == "no such run\n"
    assert not list(night.path.rglob(OUTPUT))
