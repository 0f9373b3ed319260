"""The model behind a report's drawing: lanes, marks, what is red, step numbers; as data, without pixels."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checkers.facts.evidence import gather
from checkers.facts.leases import promises
from checkers.history.records import Commit, FaultEvent, Header, History, Op, Outcome
from checkers.verdict.judge import judge
from checkers.vocabulary.anomalies import ANOMALIES
from harness.report.chart_columns import EXACT
from harness.report.chart_data import fitted
from harness.report.commit_times import accepted
from harness.report.lanes import lanes
from harness.report.recorded_run import Environment, RecordedPlan, RecordedRun
from harness.report.scenes import REJECTED, Scene, Stage, findings, label
from harness.report.timeline import Timeline, timeline
from tests.support.drawing_data import unpacked
from tests.support.literal_histories import BAD, read


def run_of(run: History, commits: tuple[Commit, ...] | None = None) -> tuple[Timeline, RecordedRun]:
    verdict = judge(run, commits).documented()
    recorded = RecordedRun(
        folder=Path(),
        verdict=verdict,
        history=run,
        commits=commits,
        plan=RecordedPlan(),
        environment=Environment(),
        target_file=None,
        problems=(),
    )
    laid_out = timeline(recorded, lanes(run))
    assert laid_out is not None
    return laid_out, recorded


@cache
def scenes_of(name: str) -> tuple[tuple[Scene, ...], Timeline, RecordedRun]:
    run, commits = read(name)
    laid_out, recorded = run_of(run, commits)
    return findings(recorded.verdict.findings, Stage(laid_out, lanes(run), run)), laid_out, recorded


@cache
def drawn(name: str) -> dict[str, Any]:
    scenes, laid_out, recorded = scenes_of(name)
    assert recorded.history is not None
    document: dict[str, Any] = unpacked(fitted(laid_out, scenes, lanes(recorded.history)).text)
    return document


def first_of(anomaly: str) -> str:
    """A recorded history that shows an anomaly."""
    names = (name for name in BAD if name.startswith(f"{anomaly}/"))
    return next(name for name in names if any(scene.anomaly == anomaly for scene in scenes_of(name)[0]))


VIOLATIONS = [name for name, anomaly in ANOMALIES.items() if anomaly.violation]


@pytest.mark.parametrize("name", BAD)
def test_what_a_verdict_accuses_is_what_the_drawing_shows_as_wrong(name: str) -> None:
    document = drawn(name)
    run, commits = read(name)
    reported = judge(run, commits).documented().findings

    for scene, finding in zip(document["scenes"], reported, strict=True):
        ops = document["operations"]
        red = {line for i in scene["accused"] for line in (ops["call"][i], ops["answer"][i]) if line}
        assert scene["wrong"]
        assert red == set(finding.accused)
        assert scene["accused"] or scene["unmatched"]


@pytest.mark.slow
@pytest.mark.parametrize("anomaly", VIOLATIONS)
def test_of_every_anomaly_the_contradicting_operations_are_in_the_drawing(anomaly: str) -> None:
    (name, *_) = [name for name in BAD if any(s.anomaly == anomaly for s in scenes_of(name)[0])]
    scene = next(scene for scene in drawn(name)["scenes"] if scene["anomaly"] == anomaly)
    ops = drawn(name)["operations"]

    assert scene["wrong"]
    for i in (*scene["accused"], *scene["against"]):
        assert i in scene["proof"]
        assert scene["from"] <= ops["to"][i]
        assert ops["from"][i] <= scene["to"]
        assert ops["lane"][i] in scene["lanes"]


@pytest.mark.parametrize("name", BAD)
def test_every_step_that_names_lines_has_its_number_in_the_drawing(name: str) -> None:
    scenes, laid_out, _ = scenes_of(name)
    document = drawn(name)

    for scene, shown in zip(scenes, document["scenes"], strict=True):
        numbered = {step for badge in shown["badges"] for step in badge["steps"]}
        for number, step in enumerate(scene.steps, start=1):
            if "(line " in step and laid_out.operations:
                assert number in numbered, step


def test_a_badge_has_the_numbers_of_all_steps_about_its_operation() -> None:
    assert [label([3]), label([2, 3, 4]), label([1, 3]), label([1, 2])] == ["3", "2–4", "1, 3", "1–2"]


def test_a_pause_that_a_step_names_has_the_number_of_that_step() -> None:
    document = drawn("stale-write/observed")
    (scene,) = document["scenes"]

    bands = {badge["label"]: document["bands"][badge["band"]] for badge in scene["badges"] if "band" in badge}

    assert [(number, band["kind"]) for number, band in bands.items()] == [("2", "pause")]


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_the_lock_s_lane_has_the_leases_of_the_checkers(name: str) -> None:
    run, commits = read(name)
    laid_out, _ = run_of(run, commits)
    promised = {lease.grant.index: lease.end for each in promises(gather(run)) for lease in each}

    held = {hold.grant: hold for hold in laid_out.holds}

    assert held.keys() == promised.keys()
    for grant, hold in held.items():
        assert (float("-inf") if hold.promised is None else hold.promised) == promised[grant]


def test_an_early_grant_shows_for_how_long_the_lock_was_promised_to_two() -> None:
    (scene,), laid_out, _ = scenes_of("early-grant/plain")
    (late,) = scene.accused

    (span,) = scene.spans

    assert span.start == laid_out.operations[late].returned
    assert span.end > span.start


def test_a_stuck_lock_shows_for_how_long_it_was_free() -> None:
    (scene, *_), _, recorded = scenes_of(first_of("stuck-lock"))
    assert recorded.history is not None

    (span,) = scene.spans

    assert span.free
    assert span.end - span.start > recorded.history.header.grace


def test_a_write_that_nobody_sent_is_wrong_where_it_is_stored() -> None:
    document = drawn("non-linearizable/logged-but-never-sent")
    (scene,) = document["scenes"]

    (entry,) = scene["unmatched"]

    assert document["accepted"]["value"][entry] == "x"
    assert document["accepted"]["operation"][entry] == -1


def test_every_place_of_a_write_that_was_stored_twice_is_drawn() -> None:
    document = drawn("duplicate-write/plain")
    (scene,) = document["scenes"]

    stored = document["accepted"]["operation"]

    assert stored.count(scene["accused"][0]) == 2
    assert len(set(document["accepted"]["at"])) == len(stored)


def fence(token: int, **fields: Any) -> Op:
    defaults: dict[str, Any] = {"index": 0, "process": 0, "f": "write", "resource": "r0", "called": 1}
    return Op(**(defaults | {"returned": 9, "outcome": Outcome.OK, "token": token, "value": "v"} | fields))


def data_of(run: History) -> Any:
    laid_out, _ = run_of(run)
    return unpacked(fitted(laid_out, (), lanes(run)).text)


def test_tokens_and_values_reach_the_page_to_the_last_digit() -> None:
    token = 2**53 + 1
    run = History(header=Header(target="t"), operations=[fence(token, value=token, lines=(2, 3))])
    laid_out, _ = run_of(run)

    text = fitted(laid_out, (), lanes(run)).text
    page = unpacked(text, parse_int=float)  # as a browser reads numbers

    assert page["operations"]["token"] == [str(token)]
    assert page["operations"]["value"] == [str(token)]
    assert page["accepted"]["token"] == [str(token)]


def test_times_are_exact_to_the_nanosecond() -> None:
    run = History(header=Header(target="t"), operations=[fence(1), fence(2, index=1, called=10, returned=12)])

    document = data_of(run)

    assert document["tick"] == 1
    assert (document["operations"]["from"], document["operations"]["to"]) == ([0, 9], [8, 11])


def test_times_too_large_for_a_browser_are_reported_in_larger_ticks() -> None:
    run = History(header=Header(target="t"), operations=[fence(1, returned=2**62)])

    document = data_of(run)

    assert document["tick"] > 1
    assert document["length"] < EXACT


def test_a_value_of_a_megabyte_is_cut_with_its_length() -> None:
    run = History(header=Header(target="t"), operations=[fence(1, value="x" * 1_000_000)])

    document = data_of(run)

    (value,) = document["operations"]["value"]
    assert len(value) < 250
    assert "1,000,000 characters" in value


def test_a_drawing_keeps_within_its_bytes_and_says_what_it_left_out() -> None:
    writes = [
        fence(i, index=i, called=10 * i, returned=10 * i + 5, value="é" * 150 + str(i)) for i in range(9000)
    ]
    run = History(header=Header(target="t"), operations=writes)
    laid_out, _ = run_of(run)

    found = fitted(laid_out, (), lanes(run), most_bytes=1_000_000)

    assert 800_000 < len(found.text) <= 1_000_000
    assert found.kept.left_out == 9000 - len(found.kept.rows)
    assert not json.loads(found.text)["complete"]


def test_a_fault_of_a_server_has_a_lane_of_its_own() -> None:
    kill = FaultEvent(time=3, kind="kill", target="storage", state="in force", evidence="exited")
    cut = FaultEvent(time=4, kind="partition", target="client:0", state="in force", evidence="silent")
    header = Header(target="t", clients=1)
    run = History(header=header, operations=[fence(1)], faults=(kill, cut))

    document = data_of(run)

    assert document["servers"] == ["storage"]
    assert [(band["lane"], band["server"]) for band in document["bands"]] == [(None, 0), (0, None)]


def test_writes_that_have_the_same_stretch_to_themselves_share_it() -> None:
    run = History(header=Header(target="t"), operations=[fence(1, called=0, returned=100, value="v")])
    twice = tuple(Commit(seq=seq, resource="r0", token=1, value="v") for seq in (1, 2, 3))

    assert accepted(run, twice).at.tolist() == [25, 50, 75]


def test_the_fence_at_work_is_not_shown_as_wrong() -> None:
    assert not Scene(
        anomaly=REJECTED,
        resource="r0",
        summary="",
        story=(),
        steps=(),
        mentions=(),
        proof=(),
        accused=(),
        against=(),
        unmatched=(),
        spans=(),
        start=0,
        end=1,
        cause=None,
        lanes=(),
    ).is_violation
