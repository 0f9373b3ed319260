"""JUnit and Markdown of a night."""

import datetime as dt
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from harness.campaign import outputs
from harness.campaign.assessment import Assessment, assess, run_of
from harness.campaign.campaign_file import Quarantine
from harness.campaign.document import document
from harness.campaign.junit import junit
from harness.campaign.night import Night
from harness.campaign.page.page import page
from harness.campaign.results import Results
from harness.campaign.status import RunOutcome, Status
from harness.campaign.summary import lines, markdown
from harness.core.exit_codes import ExitCode
from tests.support.campaign_runs import TODAY, cell, finished, job, plan, verdict
from tests.support.junit_readers import properties, results, validated
from tests.support.target_files import OWN_PROGRAM

FOLDER = Path("/nights/nightly/1")
STALE = verdict("Client 0 wrote '<b>]]>&|\x00\x1b[31m\ufffe' too late")
SHOWN = r"Client 0 wrote '<b>]]>&|\x00\x1b[31m\ufffe' too late"
HELD = verdict("Client 0 wrote 'x' too late")


def night() -> Assessment:
    runs = [
        finished(job("passes")),
        finished(job("fails"), 1, STALE),
        finished(job("fails", reproduction=1), 1, STALE),
        finished(job("unknown"), 2),
        finished(job("broken"), 3, message="starting", error="etcd-1 did not get healthy"),
        finished(job("known"), 1, HELD),
    ]
    known = run_of(runs[-1], {}).fingerprint
    return assess(
        plan(*(each.job for each in runs if not each.job.reproduction), job("late")),
        runs,
        before={"passes": [RunOutcome.FAILED, RunOutcome.PASSED]},
        quarantine=[Quarantine(fingerprint=known or "", reason="issue 7", until=dt.date(2099, 1, 1))],
        today=dt.date(2026, 11, 22),
    )


def written(*, allow_unknown: bool = False) -> str:
    return junit(Night(FOLDER, plan()), night(), allow_unknown=allow_unknown)


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 (our own)


def cases(text: str) -> dict[str, tuple[str, str]]:
    """Of each cell's case, the tag of its result and its message."""
    found = {}
    for case in parsed(text).iter("testcase"):
        results = list(case)
        name = str(case.get("classname")).partition(".")[2]
        found[name] = (results[0].tag, str(results[0].get("message"))) if results else ("", "")
    return found


def test_every_outcome_has_its_place_in_junit() -> None:
    assert cases(written()) == {
        "passes": ("", ""),
        "fails": ("failure", f"stale-write: {SHOWN}"),
        "unknown": ("error", "valid, as expected"),
        "broken": ("error", "etcd-1 did not get healthy"),
        "known": ("skipped", "quarantined until 2099-01-01: issue 7"),
        "late": ("skipped", "the night ended before its turn"),
    }


def test_ci_servers_read_every_result_as_what_it_is() -> None:
    suites = validated(written())

    assert results(suites) == {
        "passes": [],
        "fails": ["Failure"],
        "unknown": ["Error"],
        "broken": ["Error"],
        "known": ["Skipped"],
        "late": ["Skipped"],
    }
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == (6, 1, 2, 2)
    assert re.findall(r' id="(\d)"', written()) == list("012345")
    suite = next(iter(suites))
    assert properties(suite) == {
        "lock": "etcd",
        "storage": "postgres:none",
        "faults": "pause",
        "status": "not seen tonight",
        "engine": "local",
        "fencepost": "0.1.0",
        "seed of run 1": "7",
    }
    assert suite.hostname
    assert suite.timestamp == "2026-11-22T03:00:00"


def test_a_case_has_the_same_name_in_every_night() -> None:
    nights = [
        [finished(job(repeat=1, seed=seed)), finished(job(repeat=2, seed=seed + 1), 1, STALE)]
        for seed in (7, 77)
    ]
    made = [plan(*(run.job for run in runs), job(repeat=3, seed=5)) for runs in nights]
    for each, runs in zip(made, nights, strict=True):
        text = junit(
            Night(FOLDER, each),
            assess(each, runs, before={}, quarantine=(), today=TODAY),
            allow_unknown=False,
        )
        assert [case.get("name") for case in parsed(text).iter("testcase")] == ["run 1", "run 2", "run 3"]
        seeds = {case.get("name"): case.get("value") for case in parsed(text).iter("property")}
        assert [seeds[f"seed of run {number}"] for number in (1, 2)] == [str(run.job.seed) for run in runs]


def test_the_tested_commit_is_in_every_output(tmp_path: Path) -> None:
    commit = "fedcba98765432100123-dirty"
    made = msgspec.structs.replace(plan(job()), tested_commit=commit)
    night, assessment = (
        Night(tmp_path, made),
        assess(made, [finished(job())], before={}, quarantine=(), today=TODAY),
    )

    text = junit(night, assessment, allow_unknown=False)

    assert {each.get("name"): each.get("value") for each in parsed(text).iter("property")}[
        "tested_commit"
    ] == commit
    assert document(night, assessment, exit_code=0).tested_commit == commit
    assert "tested commit fedcba987654 with local changes" in page(night, assessment, (), ExitCode(0)).facts


def test_an_unknown_that_is_allowed_passes() -> None:
    assert cases(written(allow_unknown=True))["unknown"] == ("", "")


def test_a_failure_in_junit_has_its_proof_and_how_to_repeat_it() -> None:
    failure = parsed(written()).find(".//failure")

    assert failure is not None
    assert failure.text is not None
    assert "1. one\n2. so the other" in failure.text
    assert "reproduced 1 of 1" in failure.text
    assert f"judge again: fencepost recheck {FOLDER}/runs/fails/fails-1\n" in failure.text
    assert f"run again: fencepost run {FOLDER}/runs/fails/fails-1/target.toml --seed 7\n" in failure.text


def test_markdown_shows_the_urgent_first_and_recorded_words_literally() -> None:
    text = markdown(Night(FOLDER, plan()), night())

    assert text.splitlines()[0] == (
        "## nightly: 1 new failure, 1 infrastructure failure, 1 unknown, 1 quarantined, 1 not seen tonight, 1 not run"
    )
    assert text.index("| fails |") < text.index("| broken |") < text.index("| passes |")
    quoted = SHOWN.replace("'<", "`'<").replace("' too", "'` too")
    assert f"{quoted} (fingerprint `" in text


def test_markdown_says_why_a_run_is_undecided() -> None:
    text = markdown(Night(FOLDER, plan()), night())

    assert "### broken, seed 7: infrastructure\n\n`etcd-1` did not get healthy\n" in text


def test_markdown_repeats_a_failure_from_the_folder_of_the_night() -> None:
    lines = markdown(Night(FOLDER, plan()), night()).splitlines()

    assert [line for line in lines if "--seed" in line] == [
        f"    fencepost run runs/{name}/{name}-1/target.toml --seed 7" for name in ("fails", "known")
    ]
    assert len([line for line in lines if line.startswith("- that run: ")]) == 2


def test_what_a_command_would_execute_is_not_in_the_block_to_copy(tmp_path: Path) -> None:
    (tmp_path / "runs/fails/fails-1").mkdir(parents=True)
    (tmp_path / "runs/fails/fails-1/target.toml").write_text(OWN_PROGRAM)

    text = markdown(Night(tmp_path, plan()), night()).splitlines()

    [command] = [line for line in text if "runs/fails/" in line and line.startswith("    ")]
    after = text[text.index(command) + 1 :]
    assert after[0] == ""
    assert after[2].startswith("- it would execute what has not run on this machine;")
    assert '`client.command: ["./client\\n"]`' in after[3]
    assert not any("./client" in line for line in text if line.startswith("    "))


def test_the_terminal_names_what_is_not_simply_passing() -> None:
    shown = "\n".join(lines(night()))

    assert "new failure: fails; 1 of 1 failed tonight\n" in shown
    assert "not seen tonight: passes" in shown
    assert "infrastructure failure: broken\n  seed 7: etcd-1 did not get healthy\n" in shown


HOSTILE = "a|b\n# @octocat #1 https://x.example <img src=x>"


def test_no_recorded_text_is_live_in_the_summary() -> None:
    here = cell(HOSTILE)
    known = Quarantine(fingerprint="4-9a1c0f63b2de", reason=HOSTILE, until=TODAY - dt.timedelta(days=1))
    runs = [
        finished(job(HOSTILE, seed=1), 1, verdict(HOSTILE)),
        finished(job(HOSTILE, seed=2), 3, error=HOSTILE),
    ]
    made = msgspec.structs.replace(plan(), campaign=HOSTILE, cells=[here], jobs=[], missing=[HOSTILE])

    text = markdown(Night(FOLDER, made), assess(made, runs, before={}, quarantine=[known], today=TODAY))

    outside = re.sub(r"(?m)^    .*$|`[^`]+`", "", text)  # of code
    assert not re.search(r"@|#1|https|<|octocat", outside)
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_an_interrupted_night_is_compared_with_earlier_ones_and_not_stored(tmp_path: Path) -> None:
    results = Results(tmp_path / "nights.db")
    source = 'name = "nightly"\n[[cells]]\ntargets = ["a"]\n'
    nights = [Night.create(tmp_path, plan(job(), started=f"2026-11-{day}T03:00"), source) for day in (21, 22)]
    for each in nights:
        each.record(finished(job(), 1, STALE))
    outputs.write(nights[0], results, allow_unknown=False)

    assessment, _ = outputs.write(nights[1], results, allow_unknown=False, ended=False)

    assert assessment.cells[0].status is Status.STILL_FAILING
    assert "Runs of the last 2 nights" in (nights[1].path / outputs.PAGE).read_text()
    assert results.outcomes(before="2026-12-01") == {"a": [RunOutcome.FAILED]}
