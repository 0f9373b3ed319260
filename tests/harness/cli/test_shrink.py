"""`fencepost shrink` and `fencepost run --plan`: a failing run becomes a minimal one, also elsewhere."""

import json
import os
import shlex
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.command import fencepost, refusal
from tests.support.recorded_runs import Unpack
from tests.support.repository import ROOT


@pytest.mark.slow
def test_the_excerpt_is_printed_and_can_be_judged_again(recorded_run: Unpack, tmp_path: Path) -> None:
    run = recorded_run("etcd-postgres-unfenced")

    shrunk = fencepost(tmp_path, "shrink", "--no-runs", run)

    assert shrunk.returncode == ExitCode.AS_EXPECTED, shrunk.stderr
    assert "operations, 2 clients and 1 fault:" in shrunk.stdout
    assert " was paused " in shrunk.stdout
    again = fencepost(
        tmp_path,
        "recheck",
        run / "minimal.jsonl",
        "--commits",
        run / "minimal-commits.jsonl",
        "--format",
        "json",
    )
    verdict = json.loads(again.stdout)
    assert (again.returncode, verdict["verdict"]) == (ExitCode.AS_EXPECTED, "invalid")
    assert [finding["anomaly"] for finding in verdict["findings"]] == ["stale-write"]


def test_a_run_that_only_its_folder_proves_is_to_be_judged_there_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    write = {"process": 0, "f": "write", "resource": "r0", "token": 3, "value": "v1"}
    lines = (
        {"fencepost": 1, "target": "t", "require": {}},
        {"time": 1, "type": "invoke"} | write,
        {"time": 2, "type": "ok"} | write,
    )
    (run / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run / "commits.jsonl").write_text('{"seq":1,"resource":"r0","token":null,"value":"v1"}\n')

    shrunk = fencepost(tmp_path, "shrink", "--no-runs", run)

    assert shrunk.returncode == ExitCode.AS_EXPECTED, shrunk.stderr
    assert "not shrunk: no part of it shows this finding outside the run's folder" in shrunk.stdout
    words = shlex.split(shrunk.stdout.splitlines()[-1].partition("judge again")[2])
    assert words[1:] == ["recheck", "run"]
    assert fencepost(tmp_path, *words[1:]).returncode == ExitCode.VIOLATION
    assert not list(run.glob("minimal*"))


def test_the_recorded_files_are_not_changed(recorded_run: Unpack, tmp_path: Path) -> None:
    run = recorded_run("uuid-token")
    before = {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()}

    fencepost(tmp_path, "shrink", "--no-runs", run)

    after = {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()}
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"minimal.jsonl", "minimal-commits.jsonl"}


def test_a_link_in_a_received_folder_is_replaced_not_followed(recorded_run: Unpack, tmp_path: Path) -> None:
    run = recorded_run("uuid-token")
    (tmp_path / "mine").write_text("precious")
    for name in ("minimal.jsonl", "minimal-commits.jsonl"):
        (run / name).symlink_to(tmp_path / "mine")

    shrunk = fencepost(tmp_path, "shrink", "--no-runs", run)

    assert shrunk.returncode == ExitCode.AS_EXPECTED, shrunk.stderr
    assert (tmp_path / "mine").read_text() == "precious"
    assert not (run / "minimal.jsonl").is_symlink()


def test_a_valid_run_is_refused(recorded_run: Unpack, tmp_path: Path) -> None:
    said = refusal(tmp_path, "shrink", "--no-runs", recorded_run("etcd-postgres"))

    assert said.endswith("its verdict is valid: there is no finding to shrink to\n")


def test_a_history_that_was_cut_off_is_refused(recorded_run: Unpack, tmp_path: Path) -> None:
    run = recorded_run("uuid-token")
    history = run / "history.jsonl"
    lines = history.read_bytes().splitlines(keepends=True)
    (run / "events").mkdir(exist_ok=True)
    (run / "events/0.jsonl").write_bytes(b"".join(lines[1:]))
    history.write_bytes(b"".join(lines[:-10]))

    assert "lines are missing or were changed" in refusal(tmp_path, "shrink", "--no-runs", run)
    assert not (run / "minimal.jsonl").exists()


@pytest.mark.usefixtures("local_engine")
def test_a_target_that_is_no_toml_is_refused(recorded_run: Unpack, tmp_path: Path) -> None:
    run = recorded_run("uuid-token")
    (run / "target.toml").write_text("rubbish")

    said = refusal(tmp_path, "shrink", "--engine", "local", run)

    assert "target.toml" in said
    assert "bug in Fencepost" not in said


@pytest.mark.parametrize("time", ["soon", "0s", "10"])
def test_a_time_without_a_unit_is_refused(recorded_run: Unpack, tmp_path: Path, time: str) -> None:
    assert "--max-time" in refusal(tmp_path, "shrink", "--max-time", time, recorded_run("uuid-token"))


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        (
            "etcd-postgres",
            (),
            "plan.json is not a plan for etcd-postgres: it has pause holder:r0 before-write, kill storage, but",
        ),
        ("target.toml", ("--seed", "1"), "--plan contains the seed: drop --seed"),
        ("target.toml", ("--no-faults",), "--plan and --no-faults contradict each other"),
    ],
)
def test_a_plan_that_contradicts_the_command_is_refused(
    recorded_run: Unpack, target: str, options: tuple[str, ...], said: str
) -> None:
    run = recorded_run("asynchronous-commit")

    assert said in refusal(run, "run", "--plan", "plan.json", *options, target)


@pytest.mark.slow
@pytest.mark.parametrize("content", ["", "[]", "{}", '{"seed": 1}', "\x00", '{"seed": [], "planned": []}'])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)

    assert "plan.json is not a plan" in refusal(tmp_path, "run", "--plan", "plan.json", "etcd-postgres")


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_a_failing_run_shrinks_to_one_fault_and_two_clients(tmp_path: Path) -> None:
    """On real servers: its target shrinks too, and the result runs again with the same plan."""
    first = fencepost(
        tmp_path,
        "run",
        "--engine",
        "local",
        "--seed",
        "7",
        "--set",
        "workload.duration=8s",
        "etcd-postgres-unfenced",
    )
    assert first.returncode == ExitCode.AS_EXPECTED, first.stderr
    run = (tmp_path / "runs/etcd-postgres-unfenced/latest").resolve()

    shrunk = fencepost(tmp_path, "shrink", "--engine", "local", "--repeat", "2", run, timeout=500)

    assert shrunk.returncode == ExitCode.AS_EXPECTED, shrunk.stderr
    assert (
        "The smallest target that still fails has 2 clients, 1 resource and 1 fault, and takes "
        in shrunk.stdout
    )
    again = fencepost(
        tmp_path, "run", "--engine", "local", run / "minimal.toml", "--plan", run / "minimal-plan.json"
    )
    latest = tmp_path / "runs/etcd-postgres-unfenced/latest/plan.json"
    plans = [json.loads(file.read_text()) for file in (latest, run / "minimal-plan.json")]
    assert again.returncode == ExitCode.AS_EXPECTED, again.stdout
    assert plans[0]["seed"] == plans[1]["seed"]
    assert plans[0]["planned"] == plans[1]["planned"]


CLASS = """\
name = "mine"
expect = "valid"
lock = { kind = "mine:FileLock", token = "x", ttl = "1s" }
storage = { kind = "mine:FileStorage", fencing = "x" }
workload = { clients = 2, duration = "1s" }
require = { stale_writes_attempted = 0 }
"""
PROGRAM = """\
name = "mine"
expect = "valid"
client = { command = ["python3", "mine.py", "file.db"] }
lock = { kind = "client", ttl = "1s" }
storage = { kind = "client", fencing = "x" }
workload = { clients = 2, duration = "1s" }
require = { stale_writes_attempted = 0 }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder in which the run was made, and its code is."""
    project = tmp_path / "project"
    (project / "modules").mkdir(parents=True)
    return project


@pytest.fixture
def run(recorded_run: Unpack, project: Path) -> Path:
    """A run with a violation."""
    run = recorded_run("uuid-token")
    environment = json.loads((run / "environment.json").read_text())
    (run / "environment.json").write_text(json.dumps(environment | {"folder": str(project)}))
    return run


def shrunk(run: Path, *options: str, **environment: str) -> CompletedProcess[str]:
    elsewhere = run.parent / "elsewhere"
    elsewhere.mkdir()
    words = ("shrink", "--engine", "local", "--trust", "--repeat", "1", "--max-time", "5s", *options, run)
    state = {name: str(elsewhere) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return fencepost(elsewhere, *words, **state, **environment)


def was_judged(run: Path) -> bool:
    return any(run.glob("minimal-runs/*/*/verdict.json"))


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param(CLASS, "examples/own-class/files.py", id="class", marks=pytest.mark.slow),
        pytest.param(PROGRAM, "tests/support/line_program.py", id="program", marks=pytest.mark.slow),
    ],
)
def test_code_is_found_where_the_run_found_it(run: Path, project: Path, target: str, code: str) -> None:
    (run / "target.toml").write_text(target)
    (project / "mine.py").write_text((ROOT / code).read_text())

    done = shrunk(run)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    assert was_judged(run)


@pytest.mark.slow
def test_a_class_is_found_on_the_pythonpath_of_the_run(run: Path, project: Path) -> None:
    (run / "target.toml").write_text(CLASS)
    (project / "modules/mine.py").write_text((ROOT / "examples/own-class/files.py").read_text())
    recorded = json.loads((run / "environment.json").read_text())
    found_in = os.pathsep.join(["modules", str(ROOT)])
    (run / "environment.json").write_text(json.dumps(recorded | {"pythonpath": found_in}))

    done = shrunk(run)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    assert was_judged(run)


@pytest.mark.slow
def test_without_the_folder_of_the_run_code_is_found_here(run: Path, project: Path) -> None:
    (run / "target.toml").write_text(PROGRAM)
    (project / "modules").rmdir()
    project.rmdir()

    done = shrunk(run)

    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert f"{run.parent / 'elsewhere'}/mine.py" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "code"),
    [(PROGRAM, ExitCode.INFRASTRUCTURE), (CLASS, ExitCode.CONFIGURATION)],
    ids=["program", "class"],
)
def test_a_run_that_cannot_start_ends_the_shrinking(run: Path, target: str, code: ExitCode) -> None:
    (run / "target.toml").write_text(target)

    done = shrunk(run)

    assert done.returncode == code, done.stdout + done.stderr
    assert "not enough" not in done.stdout
    assert "mine" in done.stderr
    assert len([folder for folder in run.glob("minimal-runs/mine/*") if not folder.is_symlink()]) <= 1


def test_code_in_the_folder_of_a_received_run_is_asked_about(run: Path, project: Path) -> None:
    (run / "target.toml").write_text(PROGRAM)

    assert f'\n  in the folder: "{project}"\n' in refusal(run.parent, "shrink", run)
    assert not (run / "minimal-runs").exists()
