"""`fencepost run`: without faults, interrupted, of both targets, aimed, and where only Docker can run it."""

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from harness.engines.engine import Engine
from harness.run import deployment
from harness.spec import load
from harness.spec.hazards import check_aimed, overrides_for, plan_of
from tests.support.challenged import run_until_challenged
from tests.support.command import DEADLINE, FENCEPOST, fencepost, refusal, refused, run_target
from tests.support.repository import ROOT
from tests.support.selection import nightly

SHORT = ["--engine", "local", "--set", "lock.nodes=1", "--set", "workload.duration=6s"]


@pytest.mark.usefixtures("local_engine")
class TestRun:
    @pytest.mark.slow
    def test_a_run_without_faults_is_not_exercised(self, tmp_path: Path) -> None:
        short = ["--set", "workload.duration=3s"]  # too short for faults
        words = ["run", "etcd-postgres", *SHORT, *short, "--no-faults", "--format", "json", "--seed", "7"]
        done = fencepost(tmp_path, *words)

        assert done.returncode == 2, done.stderr
        document = json.loads(done.stdout)
        jsonschema.validate(document, schemas.schemas()["verdict"])
        assert any("not tested" in reason for reason in document["reasons"])
        newest = tmp_path / "runs" / "etcd-postgres" / "latest"
        assert json.loads((newest / "verdict.json").read_text()) == document
        header = (newest / "history.jsonl").read_text().splitlines()[0]
        assert json.loads(header)["seed"] == 7
        assert "target.toml --seed 7 --engine local --no-faults\n" in done.stderr
        again = fencepost(tmp_path, "recheck", "etcd-postgres", "--format", "json")
        assert "target.toml --seed 7 --engine local --no-faults\n" in again.stderr
        assert again.returncode == 2
        assert json.loads(again.stdout)["anomalies"] == document["anomalies"]

    @pytest.mark.slow
    def test_ctrl_c_ends_the_run_and_the_recording_is_judged(self, tmp_path: Path) -> None:
        command = [*FENCEPOST, "run", "etcd-postgres", "--engine", "local", "--set", "workload.duration=60s"]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        hangs = threading.Timer(DEADLINE, process.kill)
        hangs.start()
        lines = []
        with process:
            for line in process.stdout:
                lines.append(line)
                if line.startswith("  running"):
                    process.send_signal(signal.SIGINT)
            errors = process.stderr.read()
        hangs.cancel()

        assert process.returncode == 130, errors
        assert any(re.search(r"(?i)interrupted at [0-9.]+ of 60 s", line) for line in lines), errors
        assert "  interrupted: stopping the clients, then judging the recording\n" in lines
        assert "Traceback" not in errors
        assert (tmp_path / "runs" / "etcd-postgres" / "latest" / "verdict.json").is_file()


@pytest.mark.nightly
def test_the_fenced_run_is_valid_and_its_unfenced_copy_is_not(tmp_path: Path) -> None:
    done = fencepost(
        tmp_path,
        *(
            "run",
            "--both",
            "--engine=local",
            "--format=json",
            "--set=workload.duration=12s",
            "redis-postgres",
        ),
    )

    assert done.returncode == 0, done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["verdict"] for each in verdicts] == ["valid", "invalid"]
    assert verdicts[1]["expected"] == ["stale-write"]


def test_an_unfenced_target_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, "run", "--both", "etcd-postgres", "redis-postgres-unfenced")

    assert said.startswith('redis-postgres-unfenced: storage.fencing is "none" already')


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
    assert said in refusal(tmp_path, "run", "etcd-postgres", "--hazard", *hazard.split())


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
        *nightly(
            "write-sent/before-expiry/storage", "acquired/regranted/holder", "before-write/superseded/waiter"
        ),
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


@pytest.mark.parametrize(
    ("target", "settings", "why"),
    [
        ("etcd-postgres-patroni", (), "the local engine has no Patroni, which runs postgres: use Docker"),
        ("etcd-postgres", ("storage.image=postgres:18",), "the local engine runs no images"),
        ("etcd-postgres", ("lock.version=3.6.7",), "the local engine builds no servers"),
    ],
)
def test_a_target_for_docker_alone_is_refused_before_the_run(
    tmp_path: Path, target: str, settings: tuple[str, ...], why: str
) -> None:
    options = [word for setting in settings for word in ("--set", setting)]

    assert refusal(tmp_path, "run", "--engine", "local", *options, target).startswith(f"{target}: {why}")
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("zoo", "header-revision-etcd-3-4"),
        ("check-client", "--set=storage.version=3.6.7", "--storage=etcd", "--fencing=transaction", "true"),
        ("card", "--lock=hazelcast", "true"),
    ],
)
def test_every_command_refuses_it_with_the_same_exit_code(tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *words = command

    done = refused(tmp_path, name, "--engine=local", *words)

    assert done.returncode == 4, done.stdout + done.stderr
    assert "the local engine" in done.stdout + done.stderr
    assert "use Docker" in done.stdout + done.stderr


def test_a_machine_without_docker_lacks_the_engine_that_a_target_needs(tmp_path: Path) -> None:
    done = refused(tmp_path, "run", "etcd-postgres-patroni", DOCKER_HOST="unix:///nowhere")

    assert done.returncode == 3, done.stderr
    assert "Docker does not answer at unix:///nowhere" in done.stderr
    assert "infrastructure failure: the local engine has no Patroni" in done.stderr
