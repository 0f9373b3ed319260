"""Rechecks: their progress, and that each recorded run still gets its original verdict and fingerprint."""

import io
import json
import platform
import re
import time
from pathlib import Path

import pytest

from harness.campaign.canary import TWIN
from harness.campaign.fingerprint import fingerprint
from harness.cli.progress import progress
from harness.cli.zoo_exhibits import Exhibit, exhibits
from harness.report.first_finding import first_causes
from harness.run.recheck import recheck
from tests.support.recorded_runs import RECORDINGS, Unpack, recorded, recordings
from tests.support.simulation import Simulation
from tests.support.waiting import PATIENCE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_current_stage_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()

    with progress(screen) as stage:
        stage("reading history.jsonl")
        stage("judging 12 operations")

    clear = "\r\x1b[K"
    assert screen.getvalue() == f"{clear}reading history.jsonl …{clear}judging 12 operations …{clear}"


def test_without_a_terminal_slow_stages_get_regular_lines() -> None:
    screen = io.StringIO()

    with progress(screen, plain_every=0.01) as stage:
        stage("judging 12 operations")
        deadline = time.monotonic() + PATIENCE
        while screen.getvalue().count("\n") < 2 and time.monotonic() < deadline:
            pass

    assert set(screen.getvalue().splitlines()) == {"judging 12 operations … 0 s"}


def test_without_a_terminal_quick_stages_are_not_shown() -> None:
    screen = io.StringIO()

    with progress(screen) as stage:
        stage("reading history.jsonl")

    assert not screen.getvalue()


def test_each_stage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=1).lines()))
    stages: list[str] = []

    judged = recheck(path, stage=stages.append)

    assert stages == ["reading history.jsonl", f"judging {len(judged.history.operations):,} operations"]


MOST = 3 * 2**20  # bytes; all recordings together
EXHIBITS = exhibits()


def test_every_run_that_can_be_recorded_is_recorded() -> None:
    assert set(recorded()) == {each.name for each in recordings()}


def test_the_recordings_are_small() -> None:
    assert sum(file.stat().st_size for file in RECORDINGS.glob("*.tar.xz")) < MOST


SEVERAL = {
    "clock-an-hour-ahead": 2,  # early-grant, by its times and by its tokens
    "code-path-without-the-token": 2,  # stale-write, unfenced-write
    "redlock-one-clock-jumped": 2,  # early-grant, while the clock jumped and later
    "replica-promoted-with-link-held": 2,  # duplicate-token, early-grant
}
"""How many shapes the findings of one run have that follow from no other one, where it is not one."""

ONLY_COUNTED = {"append-without-fence-on-acquire"}
"""Its anomaly makes no run invalid, so a failing run of it has no finding."""


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_a_recorded_bug_is_found_again(recorded_run: Unpack, exhibit: Exhibit) -> None:
    """In at most two shapes: each finding that follows from no other may be all that another seed shows."""
    name = exhibit.name
    document = recheck(recorded_run(name)).document
    verdict = document.as_dict()
    first = first_causes(verdict["findings"])
    shapes = {fingerprint(name, verdict | {"findings": [each]}) for each in first}

    assert document.as_expected, document.reasons
    assert all(document.anomalies[each] for each in exhibit.bug.expected)
    assert [each["anomaly"] for each in first[:1]] == [*exhibit.bug.expected] * (name not in ONLY_COUNTED)
    assert len(shapes) == (name not in ONLY_COUNTED) * SEVERAL.get(name, 1) <= 2
    assert not shapes or fingerprint(name, verdict) in shapes


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_a_recorded_twin_is_valid_and_exercised(recorded_run: Unpack, exhibit: Exhibit) -> None:
    document = recheck(recorded_run(f"{exhibit.name}{TWIN}")).document

    assert document.verdict == "valid", document.reasons
    least = exhibit.twin.require
    assert all(document.coverage[name] >= least[name] for name in least)


def test_a_recorded_run_that_was_interrupted_ends_early(recorded_run: Unpack) -> None:
    folder = recorded_run("interrupted")
    plan = json.loads((folder / "plan.json").read_bytes())
    last = json.loads((folder / "history.jsonl").read_text().splitlines()[-1])

    assert plan["duration"] == 20 * 10**9
    assert 5 <= (last["time"] - plan["started"]) / 10**9 < 10
    recheck(folder)


@pytest.mark.parametrize("name", [each.name for each in recordings()])
def test_a_recording_does_not_identify_its_machine(recorded_run: Unpack, name: str) -> None:
    folder = recorded_run(name)

    for file in folder.iterdir():
        text = file.read_text()
        assert platform.node() not in re.split(r"[^\w.-]", text)
        assert not re.search(r"(?<![\w./-])/(home|root|tmp|work|var|usr|opt)/", text), file.name
