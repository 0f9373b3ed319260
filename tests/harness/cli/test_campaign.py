"""`fencepost campaign`: what it prints, that a killed one is resumed, and what its workers answer."""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.campaign.execution import RunReply, answer_in, unanswered
from harness.campaign.night import RESULTS
from harness.cli import campaign_worker
from harness.cli.commands.campaign import campaign as campaign_command
from harness.cli.run_campaign import resumed
from harness.core.errors import EngineUnavailableError
from harness.core.exit_codes import ExitCode
from tests.support.challenged import repeated
from tests.support.command import DEADLINE, fencepost, refusal, started_campaign
from tests.support.junit_readers import validated
from tests.support.repository import ROOT
from tests.support.target_files import OWN_PROGRAM

SQLITE = """
name = "nightly"
canary = false
budget = "10m"
set = ["workload.duration=6s"]
seeds = [1, 2]

[[matrix]]
lock = ["redis"]
storage = ["sqlite:none", "sqlite:conditional-update"]
"""
CELLS = ("redis-sqlite-none-pause", "redis-sqlite-conditional-update-pause")


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    file = tmp_path / "nightly.toml"
    file.write_text(SQLITE)
    return file


@pytest.fixture
def runs_everywhere(campaign: Path) -> Path:
    """A campaign whose servers have wheels for every Python."""
    campaign.write_text(SQLITE.replace('"redis"', '"etcd"'))
    return campaign


@pytest.mark.slow
def test_a_dry_run_prints_the_runs_and_their_time(tmp_path: Path, runs_everywhere: Path) -> None:
    done = fencepost(tmp_path, "campaign", "--dry-run", "--workers", "2", runs_everywhere)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    *runs, total = done.stdout.splitlines()
    assert [line.split()[1:] for line in runs] == [
        [f"{cell.replace('redis', 'etcd')},", "run", number] for number in ("1", "2") for cell in CELLS
    ]
    assert total == "4 runs, 2 at once: about 0:32, of a budget of 10:00"
    assert not (tmp_path / "nights").exists()


def test_a_dry_run_warns_if_no_run_fits_into_the_budget(tmp_path: Path, runs_everywhere: Path) -> None:
    runs_everywhere.write_text(runs_everywhere.read_text().replace('budget = "10m"', 'budget = "5s"'))

    done = fencepost(tmp_path, "campaign", "--dry-run", "--engine", "local", runs_everywhere)

    assert (
        f'{runs_everywhere}:4: budget = "5s": no run fits into that: the shortest takes about 0:16;'
        " set a longer one"
    ) in done.stdout


def test_a_campaign_that_ships_is_named_without_a_path(tmp_path: Path) -> None:
    done = fencepost(tmp_path, "campaign", "--dry-run", "--engine", "local", "local")

    assert "etcd-sqlite-none-pause, run 1" in done.stdout
    assert "no run fits" not in done.stdout


@pytest.mark.slow
def test_a_file_of_that_name_precedes_the_shipped_campaign(tmp_path: Path, runs_everywhere: Path) -> None:
    shutil.copy(runs_everywhere, tmp_path / "local")

    done = fencepost(tmp_path, "campaign", "--dry-run", "--engine", "local", "local")

    assert done.stdout == fencepost(tmp_path, "campaign", "--dry-run", runs_everywhere).stdout


@pytest.mark.slow
def test_a_dry_run_names_the_cells_that_cannot_run_here(tmp_path: Path, campaign: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN_PROGRAM)
    campaign.write_text(
        'name = "n"\nrepeat = 2\ncanary = false\n[[cells]]\ntargets = ["own.toml", "etcd-postgres-clock*"]\n'
        '[[matrix]]\nlock = ["etcd"]\nstorage = ["sqlite:none"]\nfaults = ["pause", "kill-lock"]\n'
    )

    etcd = tmp_path / "etcd"
    etcd.write_text("#!/bin/sh\necho etcd Version: 3.5.1\n")
    etcd.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    done = fencepost(tmp_path, "campaign", "--dry-run", "--engine", "local", campaign, PATH=path)

    assert done.returncode == ExitCode.CONFIGURATION
    reasons = done.stdout.partition("at once: about")[2].split("cannot run here, engine local: ")[1:]
    assert [sorted(reason.split("\n  ")[1:]) for reason in map(str.rstrip, reasons)] == [
        ["own"],
        ["etcd-postgres-clock", "etcd-postgres-clock-unfenced"],
        ["etcd-sqlite-none-kill-lock"],
    ]
    assert "there is no executable program ./client" in reasons[0]


def test_a_dry_run_without_the_named_engine_ends_as_its_runs_would(tmp_path: Path, campaign: Path) -> None:
    done = fencepost(
        tmp_path, "campaign", "--dry-run", "--engine", "docker", campaign, DOCKER_HOST="tcp://127.0.0.1:1"
    )

    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert "DOCKER_HOST" in done.stderr


@pytest.mark.slow
def test_shards_share_the_runs(tmp_path: Path, runs_everywhere: Path) -> None:
    parts = [
        fencepost(tmp_path, "campaign", "--dry-run", "--shard", shard, runs_everywhere).stdout.splitlines()[
            :-1
        ]
        for shard in ("1/2", "2/2")
    ]

    assert [len(part) for part in parts] == [2, 2]
    assert len({line for part in parts for line in part}) == 4


def test_mistakes_are_reported_before_anything_starts(tmp_path: Path, campaign: Path) -> None:
    campaign.write_text(SQLITE.replace("sqlite:none", "sqlite:nothing"))

    said = refusal(tmp_path, "campaign", campaign)

    assert 'matrix.0.storage.0 = "sqlite:nothing": no shipped target has "sqlite:nothing"' in said
    assert not (tmp_path / "nights").exists()


@pytest.mark.slow
@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "a/b"])
def test_a_shard_that_cannot_be_is_refused(tmp_path: Path, campaign: Path, shard: str) -> None:
    assert f"'{shard}' is not a shard" in refusal(tmp_path, "campaign", "--shard", shard, campaign)


@pytest.mark.parametrize(
    ("command", "again"),
    [
        (("campaign", "a.toml"), "fencepost campaign --resume a.toml"),
        (
            ("campaign", "--resume", "--engine", "local", "a.toml"),
            "fencepost campaign --resume --engine local a.toml",
        ),
        (("campaign", "run", "--", "-a.toml"), "fencepost campaign --resume -- -a.toml"),
    ],
)
def test_a_night_is_resumed_with_the_options_it_began_with(command: tuple[str, ...], again: str) -> None:
    assert resumed(command) == again


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_an_interrupted_campaign_says_how_to_go_on(tmp_path: Path, campaign: Path) -> None:
    with started_campaign(tmp_path, campaign, "--nights", "my nights", stderr=subprocess.PIPE) as process:
        _wait_for(tmp_path / "my nights/nightly/latest/runs/*", process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=DEADLINE)

    assert process.returncode == ExitCode.INTERRUPTED, said.decode()
    again = f"fencepost campaign --resume --engine local --nights 'my nights' {campaign}"
    assert said.decode() == f"interrupted\ngo on with: {again}\n"


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_killed_campaign_is_resumed_and_every_run_counts_once(tmp_path: Path, campaign: Path) -> None:
    def kill_and_resume() -> CompletedProcess[str]:
        shutil.rmtree(tmp_path / "nights", ignore_errors=True)
        with started_campaign(tmp_path, campaign) as process:
            _wait_for(tmp_path / "nights/nightly/latest" / RESULTS, process)
            process.kill()
        words = ("campaign", "--engine", "local", "--history", "nights.db", "--resume", campaign)
        return fencepost(tmp_path, *words)

    done = repeated(kill_and_resume, lambda done: done.returncode == ExitCode.UNKNOWN)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    night = tmp_path / "nights/nightly/latest"
    document = json.loads((night / "campaign.json").read_text())
    runs = {(cell["name"], run["seed"]) for cell in document["cells"] for run in cell["runs"]}
    assert sum(len(cell["runs"]) for cell in document["cells"]) == len(runs) == 4
    assert {cell["status"] for cell in document["cells"]} == {"passing"}
    suites = validated((night / "junit.xml").read_text())
    assert (suites.tests, suites.failures, suites.errors) == (4, 0, 0)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("local_engine")
def test_ten_kills_at_random_moments_lose_and_repeat_no_run(tmp_path: Path, campaign: Path) -> None:
    rng, latest = random.Random(12), tmp_path / "nights/nightly/latest"
    short = 'duration=3s", "lock.ttl=1s'  # so that most moments are not in the workload
    campaign.write_text(SQLITE.replace("duration=6s", short))
    kills = 0
    while kills < 10:
        again = ["--resume"] if latest.exists() else []
        with started_campaign(tmp_path, campaign, "--workers", "2", *again) as process:
            _wait_for(latest, process)
            kills += _killed_after(rng.uniform(0, 8), process)
        if process.returncode == 0:
            break  # a fast machine is done before the tenth kill

    done = fencepost(tmp_path, *("campaign", "--engine", "local", "--resume", campaign), timeout=600)

    assert (latest / "campaign.json").exists(), done.stdout + done.stderr
    document = json.loads((latest / "campaign.json").read_text())
    assert done.returncode == document["exit_code"] != ExitCode.INFRASTRUCTURE, done.stdout + done.stderr
    runs = [(cell["name"], run["seed"]) for cell in document["cells"] for run in cell["runs"]]
    assert sorted(runs) == sorted((cell, seed) for cell in CELLS for seed in (1, 2))
    lines = (latest / RESULTS).read_text().splitlines()
    recorded = [job for job in (json.loads(line)["job"] for line in lines) if not job["reproduction"]]
    assert len({(job["cell"], job["seed"]) for job in recorded}) == len(recorded) == 4


def _killed_after(seconds: float, process: subprocess.Popen[bytes]) -> bool:
    """Kill a process after some time; False if it had ended by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return True
    return False


def _wait_for(file: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file is there; its name may be a pattern."""
    deadline = time.monotonic() + 240
    while not any(file.parent.glob(file.name)):
        assert process.poll() is None, "the campaign ended before it was killed"
        assert time.monotonic() < deadline, f"{file} did not appear"
        time.sleep(0.05)


OF_DASK = {"--nthreads", "--resources", "--protocol", "--tls-ca-file", "--tls-cert", "--tls-key"}
OF_DASK |= {"--no-dashboard"}


def test_each_option_that_the_page_names_is_in_the_help_of_a_command() -> None:
    text = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - OF_DASK - {"--set"}

    known = {
        name
        for command in campaign_command.commands.values()
        for option in command.params
        for name in option.opts
    }

    assert len(named) > 8
    assert named <= known


def answers(target: str, tmp_path: Path) -> list[Any]:
    request = json.dumps({"target": target, "seed": 1, "runs": str(tmp_path), "log": ""})
    answered = io.StringIO()
    campaign_worker.make_runs("local", None, io.StringIO(f"{request}\n" * 2), answered)
    return [answer_in(line.encode()) for line in answered.getvalue().splitlines()]


def test_a_wrong_target_is_answered_with_its_sentence(tmp_path: Path) -> None:
    answered = answers("no-such-target", tmp_path)

    assert [each.code for each in answered] == [ExitCode.CONFIGURATION] * 2
    assert all(each.error.startswith("unknown target no-such-target") for each in answered)


def test_an_unusable_engine_is_the_error_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(*_: object) -> None:
        raise EngineUnavailableError("no Docker engine answers", "start it")

    monkeypatch.setattr(campaign_worker, "choose", choose)

    assert answers("etcd-postgres", tmp_path) == [RunReply(code=3, error="no Docker engine answers")] * 2


def test_half_an_answer_is_none() -> None:
    assert answer_in(b'{"code": 0, "verd') is None
    assert answer_in(b"") is None


def test_a_process_without_an_answer_never_passed() -> None:
    assert unanswered(0).code == ExitCode.INFRASTRUCTURE
    assert unanswered(-9).code == -9


@pytest.mark.slow
def test_what_a_class_prints_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import os\nos.write(1, b'{}\\n')\nprint('loud', flush=True)\nclass Lock: ...\n"
    )
    (tmp_path / "t.toml").write_text(
        'name = "t"\nexpect = "valid"\n[lock]\nkind = "loud:Lock"\n'
        '[storage]\nkind = "sqlite"\nfencing = "conditional-update"\n'
    )
    request = {"target": "t.toml", "seed": 1, "runs": str(tmp_path / "runs"), "log": ""}

    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", "campaign", "worker", "--engine", "local"],
        input=json.dumps(request) + "\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    answer = answer_in(done.stdout.encode())
    assert answer is not None, done.stdout
    assert answer.code == ExitCode.CONFIGURATION
    assert "lock.kind" in answer.error
    assert "loud\n" in done.stderr
