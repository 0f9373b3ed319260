"""`fencepost run --hazard` aims at one dangerous moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.run import deployment
from harness.spec import load
from harness.spec.hazards import check_aimed, overrides_for, plan_of
from tests.support.challenged import run_until_challenged
from tests.support.command import refused, run_target
from tests.support.selection import nightly


@pytest.mark.parametrize(
    ("hazard", "said"),
    [
        ("write-sent", "--hazard 'write-sent' is no hazard: one looks like write-sent/superseded/holder"),
        ("writesent/superseded", "did you mean write-sent?"),
        ("write-sent/superseded/holder/delayed", "held back from before it is sent: give before-write"),
        ("write-sent/expired/waiter/lost", "what a waiter sends is held back or lost only at moments"),
        ("write-sent/expired/lock/lost", "servers that were killed or cut off are back when they can"),
        ("write-sent/superseded/storage/delayed", "a storage that is stopped accepts nothing"),
        ("before-write/expired/waiter", "a holder that goes on renews its lease"),
        ("acquired/before-expiry/lock", 'is "before-write" for lock: a holder in the workload register'),
        (
            "write-sent/superseded --set=storage.fencing=select-for-update",
            "the stopped client's open transaction locks out all others",
        ),
        ("write-sent/superseded --no-faults", "--hazard and --no-faults contradict each other"),
    ],
)
def test_a_hazard_that_nothing_can_aim_at_is_refused(tmp_path: Path, hazard: str, said: str) -> None:
    done = refused(tmp_path, "run", "etcd-postgres", "--hazard", *hazard.split())

    assert done.returncode == 4
    assert said in done.stderr


def test_what_a_hazard_replaces_is_said(tmp_path: Path) -> None:
    two = ("etcd-postgres", "etcd-postgres-upsert")
    done = refused(tmp_path, "run", *two, "--hazard", "write-sent/superseded", "--until-violation")

    said = "--hazard write-sent/superseded: the run must hit it; the target's own faults and [require] do not apply"
    assert said in done.stderr


def test_a_run_is_aimed_at_its_hazard_alone_and_must_hit_it() -> None:
    target = load("etcd-postgres", overrides_for("write-sent/superseded"))

    (planned,) = plan_of(target, target.faults, 7)
    header = deployment.header(target, 7, target.faults)

    assert planned.hazards == ("write-sent/superseded/holder",)
    assert header["hazards"]["possible"] == ["write-sent/superseded/holder"]
    assert header["hazards"]["required"] == 1
    assert header["require"] == {"stale_writes_attempted": 0}


@pytest.mark.parametrize(
    ("hazard", "kind", "whom"),
    [
        ("before-write/superseded/waiter", "pause", "waiter"),
        ("write-sent/before-expiry/storage", "pause", "storage"),
        ("before-release/regranted/storage/delayed", "pause", "storage"),
        ("renewing/expired/lock/delayed", "pause", "lock"),
        ("before-write/superseded/lock/delayed", "pause", "lock:leader"),
        ("before-write/regranted/holder/delayed", "delay", "holder"),
        ("renewing/superseded/holder/lost", "kill", "holder"),
        ("write-sent/expired/holder/lost", "partition", "holder"),
        ("before-write/before-expiry/holder/lost", "partition", "holder"),
    ],
)
def test_one_fault_is_aimed_at_one_hazard(hazard: str, kind: str, whom: str) -> None:
    target = load("etcd-postgres", overrides_for(hazard))

    (fault,) = target.faults
    header = deployment.header(target, 7, target.faults)

    check_aimed(hazard, [target])
    assert (fault.kind, fault.target) == (kind, whom)
    assert header["hazards"]["possible"] == [hazard]


def test_a_run_without_faults_misses_required_hazards() -> None:
    target = load("etcd-postgres-hazards", ("require.hazards=all",))

    assert deployment.header(target, 7, target.faults)["hazards"]["required"] == 24
    assert deployment.header(target, 7, ())["hazards"]["required"] == 1


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(
    "hazard",
    [
        "renewing/expired/holder",
        "write-sent/before-expiry/storage",
        *nightly("acquired/regranted/holder", "before-write/superseded/waiter"),
    ],
)
def test_a_run_hits_the_hazard_that_it_is_aimed_at(local_engine: Engine, tmp_path: Path, hazard: str) -> None:
    def start(duration: str) -> Any:
        return run_target(
            tmp_path, "etcd-postgres", duration, *overrides_for(hazard), engine=local_engine.name
        )

    done = run_until_challenged(start, 8, lambda verdict: not verdict["hazards"]["missed"])

    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["verdict"]) == (0, "valid")
    assert verdict["hazards"]["hit"][hazard] >= 1
    assert verdict["hazards"] == verdict["hazards"] | {"missed": [], "possible": 1}
