"""The data of the drawings: what is kept of a long run, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from harness.report.chart_data import drawing, script_safe
from harness.report.lanes import lanes
from harness.report.recorded_run import load
from harness.report.scenes import Stage, findings
from harness.report.thinning import keep
from harness.report.timeline import timeline
from harness.run.recheck import recheck
from tests.support.report_folder import STALE, laid_out, recorded


def test_a_long_history_is_thinned_but_not_where_it_matters(recorded_run: Callable[[str], Path]) -> None:
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
