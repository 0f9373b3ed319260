"""What a drawing is made of: rows, scenes, lanes, holds, accepted writes, durations, and kept data."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checkers.facts.surroundings import GrantStops
from checkers.history.columns import ABSENT, Operations
from checkers.history.faults import faults_of
from checkers.history.reader import parse
from checkers.history.records import Commit, FaultEvent, History, Outcome
from harness.report.chart_data import drawing, keep, script_safe
from harness.report.commit_times import AcceptedWrites, accepted
from harness.report.holds import Holds
from harness.report.lanes import lanes
from harness.report.latency import UNANSWERED, points, summaries
from harness.report.recorded_run import load
from harness.report.rows import Grants, GroupedRows, Lines, ends
from harness.report.scenes import REJECTED, Stage, findings, rejections
from harness.report.timeline import bands, timeline
from harness.run.recheck import recheck
from tests.support.recorded_runs import Unpack
from tests.support.report_folder import FINDING, HEADER, REFUSED, STALE, laid_out, operation, recorded, stage
from tests.support.verdicts import finding_of


def test_the_scene_of_a_finding_reaches_from_the_grant_to_the_stale_write(tmp_path: Path) -> None:
    run = laid_out(tmp_path)

    (scene,) = findings([finding_of(FINDING)], stage(run))

    assert [run.operations[index].value for index in scene.proof] == ["new", "old"]
    assert scene.against == scene.proof[:1]
    assert scene.accused == scene.proof[1:]
    assert scene.start <= 1010
    assert scene.end >= 1180
    assert scene.lanes == (0, 1)


def test_a_scene_begins_with_the_fault_that_opened_its_window(tmp_path: Path) -> None:
    killed = FaultEvent(
        time=1005, kind="kill", target="storage", state="in force", evidence="it is gone", line=90
    )
    caused = FINDING | {"cause": {"certain": False, "fault": "kill", "faults": [90]}}
    run = laid_out(tmp_path)
    fault = replace(run.bands[0].fault, kind="kill", target="storage", began=1005, lines=(90,))
    band = replace(run.bands[0], fault=fault, lane=None)
    history = replace(recorded(STALE), faults=(killed,))

    (scene,) = findings([finding_of(caused)], stage(replace(run, bands=(band,)), history))

    assert scene.cause == band
    assert scene.start <= 1005


def test_a_finding_whose_lines_are_unknown_still_has_a_scene(tmp_path: Path) -> None:
    run = laid_out(tmp_path)

    (scene,) = findings(
        [finding_of(FINDING | {"operations": [999], "accused": [999], "step_lines": [[]], "cause": None})],
        stage(run),
    )

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


def test_a_clients_renewing_thread_is_in_its_lane() -> None:
    clients = lanes(recorded(HEADER.replace('"clients":2', '"clients":5') + "\n"))

    assert [clients.lane(process) for process in (3, 8, 13, 18)] == [3, 3, 3, 3]


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


def test_a_fault_lasts_from_seen_in_force_to_seen_healed() -> None:
    run = recorded(STALE)

    (band,) = bands(run.faults, lanes(run))

    assert (band.fault.kind, band.lane, band.fault.began, band.end) == ("pause", 0, 1030, 1160)


def test_a_fault_that_was_never_seen_healed_has_no_end() -> None:
    run = recorded(STALE)

    (band,) = bands(run.faults[:1], lanes(run))

    assert band.end is None


def holds_of(run: History) -> Holds:
    return Holds(run.operations, lanes(run), GrantStops(faults_of(run.faults)))


def test_a_lease_lasts_until_the_end_that_its_last_renewal_promised() -> None:
    first, second = holds_of(recorded(STALE))

    assert (first.granted, first.promised, first.renewals) == (1010, 1120, 1)
    assert (second.granted, second.promised, second.ended) == (1130, 1225, None)


def test_a_client_believes_in_its_hold_until_it_releases_it() -> None:
    first, _ = holds_of(recorded(STALE))

    assert (first.leased_until, first.believed_until) == (1120, 1190)


def test_a_release_ends_a_lease_that_was_promised_for_longer() -> None:
    first, _ = holds_of(recorded(STALE.replace('"ttl":100', '"ttl":1000')))

    assert (first.promised, first.leased_until) == (1190, 1190)


STOP = """\
{"time":1126,"process":"nemesis","type":"info","f":"pause","value":{"target":"client:1","state":"in force","evidence":"T","owner":"b","resource":"r0","at":"granted"}}
{"time":1128,"process":"nemesis","type":"info","f":"pause","value":{"target":"client:1","state":"healed","evidence":"S","owner":"b","resource":"r0","at":"granted"}}
"""


def test_a_client_that_stops_between_grant_and_token_holds_from_then_on() -> None:
    answer = '{"time":1130,'
    first, second = holds_of(recorded(STALE.replace(answer, STOP + answer)))

    assert (second.held_from, second.granted) == (1126, 1130)
    assert first.held_from == first.granted


def test_a_lease_may_end_before_the_client_has_its_token() -> None:
    answer = '{"time":1130,'
    stopped = STALE.replace(answer, STOP + answer).replace('"token":2,"ttl":100,', '"token":2,"ttl":2,')
    _, second = holds_of(recorded(stopped))

    assert (second.held_from, second.leased_until, second.granted) == (1126, 1127, 1130)


def placed(found: AcceptedWrites) -> list[tuple[object, int]]:
    """The value of each accepted write, and when it is drawn."""
    values = [write.value for write in found.writes(np.arange(len(found.at)))]
    return list(zip(values, found.at.tolist(), strict=True))


def test_accepted_writes_are_placed_in_order_and_within_their_calls() -> None:
    run = recorded(STALE)
    commits = (
        Commit(seq=1, resource="r0", token=2, value="new"),
        Commit(seq=2, resource="r0", token=1, value="old"),
    )

    assert placed(accepted(run, commits)) == [("new", 1145), ("old", 1175)]


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

    found = accepted(run, commits)

    assert found.earliest.tolist() == [60, 60]
    assert found.latest.tolist() == [80, 100]
    assert [value for value, _ in placed(found)] == ["overtook", "held up"]


def test_without_a_log_writes_are_placed_where_clients_saw_them() -> None:
    assert placed(accepted(recorded(STALE), None)) == [("new", 1150), ("old", 1180)]


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


def test_a_long_history_is_thinned_but_not_where_it_matters(recorded_run: Unpack) -> None:
    folder = recorded_run("etcd-postgres-unfenced")
    recheck(folder)
    run = load(folder)
    assert run.history is not None
    clients = lanes(run.history)
    whole = timeline(run, clients)
    assert whole is not None
    (scene,) = findings(run.verdict.findings[:1], Stage(whole, clients, run.history))

    kept = keep(whole, [scene], most=100)

    inside = set(whole.rows_within(scene.start, scene.end).tolist())
    assert len(kept.rows) <= 100
    assert kept.left_out == len(whole.operations) - len(kept.rows)
    assert inside <= set(kept.rows.tolist())


def test_nothing_in_the_data_can_end_its_script_element() -> None:
    text = script_safe({"value": "</script><!--<script>&\u2028"})

    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"value": "</script><!--<script>&\u2028"}


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
    renewals = {i: drawn["process"][i] for i, kind in enumerate(drawn["kind"]) if kind == renew}
    assert list(renewals.values()) == ["2", "3"]
    assert [renewals[i] for i in drawn["waiting"]] == ["3"]


HISTORY = parse(
    [
        '{"fencepost":1,"target":"t","fenced":true,"policy":"strict","ttl":2000}',
        '{"time":10,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"a"}',
        '{"time":20,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"a","token":7,"ttl":2000}',
        '{"time":30,"process":1,"type":"invoke","f":"acquire","resource":"r0","owner":"b"}',
        '{"time":40,"process":1,"type":"fail","f":"acquire","resource":"r0","owner":"b","error":"busy"}',
        '{"time":50,"process":0,"type":"invoke","f":"write","resource":"r0","token":7,"value":"x"}',
        '{"time":60,"process":0,"type":"info","f":"write","resource":"r0","token":7,"value":"x"}',
        '{"time":70,"process":1,"type":"invoke","f":"acquire","resource":"r1","owner":"b"}',
        '{"time":80,"process":1,"type":"ok","f":"acquire","resource":"r1","owner":"b","token":7,"ttl":2000}',
    ]
)
OPERATIONS = Operations.of(HISTORY.operations)


@pytest.mark.parametrize(("line", "index"), [(2, 0), (3, 0), (4, 1), (7, 2), (9, 3)])
def test_an_operation_is_found_by_either_line(line: int, index: int) -> None:
    assert Lines(OPERATIONS).find(line) is HISTORY.operations[index]


@pytest.mark.parametrize("line", [0, 1, 10, 10**17])
def test_a_line_without_an_operation_finds_none(line: int) -> None:
    assert Lines(OPERATIONS).find(line) is None


def test_an_operation_ends_when_its_client_stopped_waiting() -> None:
    assert ends(OPERATIONS.columns).tolist() == [20, 40, 60, 80]


def test_grants_are_the_acquires_that_succeeded() -> None:
    grants = Grants(OPERATIONS)

    assert grants.rows.tolist() == [0, 3]
    assert [grants.has(row) for row in range(5)] == [True, False, False, True, False]


def test_a_token_is_of_one_resource() -> None:
    grants = Grants(OPERATIONS)

    assert grants.like(HISTORY.operations[2]).tolist() == [0]
    assert grants.like(HISTORY.operations[3]).tolist() == [3]
    assert grants.of_resource("r1").tolist() == [3]


def test_an_owner_that_was_never_granted_the_lock_has_no_grant() -> None:
    assert not len(Grants(OPERATIONS).like(HISTORY.operations[1]))


def test_rows_of_a_key_keep_their_order() -> None:
    groups = GroupedRows(np.array([5, 6, 7, 8]), np.array([2, 1, 2, 2]))

    assert [groups.of(key).tolist() for key in (0, 1, 2)] == [[], [6], [5, 7, 8]]


def test_the_greatest_value_of_a_key_is_absent_where_no_row_has_it() -> None:
    groups = GroupedRows(np.array([5, 6, 7]), np.array([2, 1, 2]))

    assert groups.greatest(np.array([10, 20, 30]), np.array([1, 2, 3, 0])).tolist() == [
        20,
        30,
        ABSENT,
        ABSENT,
    ]


def test_the_greatest_value_of_no_rows_is_absent() -> None:
    nothing = np.array([], dtype=np.int64)

    assert GroupedRows(nothing, nothing).greatest(nothing, np.array([4])).tolist() == [ABSENT]
