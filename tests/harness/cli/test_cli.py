import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from tests.support.command import warm
from tests.support.repository import ROOT

FENCEPOST = [sys.executable, "-m", "harness.cli"]
DEADLINE = 60  # s

HEADER = {"fencepost": 1, "target": "t", "seed": 7, "fenced": True, "policy": "strict", "ttl": 2_000_000_000}


@pytest.fixture
def fencepost(tmp_path: Path) -> Any:
    """Call the command as a user would, in an empty folder."""

    def call(*arguments: Any, **options: Any) -> Any:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}
        if not options:
            return warm([str(each) for each in arguments], tmp_path, environment, DEADLINE)
        return subprocess.run(
            [*FENCEPOST, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
            **options,
        )

    return call


def event(time: int, process: float, kind: str, f: str, **rest: Any) -> dict[str, Any]:
    return {"time": time, "process": process, "type": kind, "f": f, "resource": "r0"} | rest


def grant(time: int, process: int, token: int) -> list[dict[str, Any]]:
    owner = f"{process}-{token}"
    return [
        event(time, process, "invoke", "acquire", owner=owner),
        event(time + 1, process, "ok", "acquire", owner=owner, token=token, ttl=1),
    ]


def write(time: int, process: int, token: int, outcome: str) -> list[dict[str, Any]]:
    value = f"{process}-{time}"
    error = {"error": "stale"} if outcome == "fail" else {}
    return [
        event(time, process, "invoke", "write", token=token, value=value),
        event(time + 1, process, outcome, "write", token=token, value=value, **error),
    ]


def superseded(outcome: str) -> list[Any]:
    """Client 0 is granted 33 and writes after client 1 wrote with 34."""
    return [*grant(10, 0, 33), *grant(20, 1, 34), *write(30, 1, 34, "ok"), *write(40, 0, 33, outcome)]


@pytest.fixture
def history(tmp_path: Path) -> Any:
    def save(events: Any, **header: Any) -> str:
        file = tmp_path / "history.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in [HEADER | header, *events]))
        return str(file)

    return save


class TestHelp:
    def test_help_loads_nothing_heavy(self) -> None:
        heavy = {"docker", "grpc", "jinja2", "msgspec", "numpy", "psycopg", "pydantic", "rich"}
        loaded = "import sys, harness.cli; print(*{name.partition('.')[0] for name in sys.modules})"

        asked = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)

        assert heavy.isdisjoint(asked.stdout.split())

    def test_help_lists_the_exit_codes(self, fencepost: Any) -> None:
        assert "130  interrupted" in fencepost("--help").stdout

    def test_the_version_is_printed(self, fencepost: Any) -> None:
        assert fencepost("--version").stdout.startswith("fencepost, version ")


class TestWrongUse:
    def test_a_misspelled_command_gets_a_suggestion(self, fencepost: Any) -> None:
        done = fencepost("rnu")

        assert done.returncode == 4
        assert "Did you mean 'run'?" in done.stderr

    def test_a_misspelled_target_gets_a_suggestion(self, fencepost: Any) -> None:
        done = fencepost("run", "etcd-postgre")

        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr == "unknown target etcd-postgre; did you mean etcd-postgres?\n"

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("run", "unknown target nosuch; `fencepost targets` lists all"),
            ("zoo", "the zoo has no bug called nosuch; docs/zoo.md lists all"),
        ],
    )
    def test_an_unknown_name_is_reported_in_one_short_line(
        self, fencepost: Any, command: str, said: str
    ) -> None:
        done = fencepost(command, "nosuch")

        assert (done.returncode, done.stdout, done.stderr) == (4, "", f"{said}\n")

    def test_an_unknown_option_is_a_usage_error(self, fencepost: Any) -> None:
        assert fencepost("run", "--sed", "3", "etcd-postgres").returncode == 4

    @pytest.mark.parametrize("nothing", [[], ["nothing-*"], ["."]])
    def test_without_a_target_nothing_is_selected(self, fencepost: Any, nothing: list[str]) -> None:
        done = fencepost("run", *nothing)

        assert done.returncode == 5
        assert "`fencepost targets` lists" in done.stderr

    @pytest.mark.parametrize("command", ["run", "validate"])
    def test_words_that_select_nothing_are_named(self, fencepost: Any, tmp_path: Path, command: str) -> None:
        (tmp_path / "empty").mkdir()
        done = fencepost(command, "nothing-*", "empty")

        assert done.returncode == 5
        assert done.stderr.splitlines()[:2] == [
            "no shipped target matches nothing-*",
            "the folder empty has no *.toml",
        ]

    def test_every_target_of_a_folder_is_validated(self, fencepost: Any) -> None:
        done = fencepost("validate", str(ROOT / "targets"))

        assert done.returncode == 0
        assert done.stdout.count(": ok, ") == len(list((ROOT / "targets").glob("*.toml")))

    def test_an_invalid_seed_is_reported_with_an_example(self, fencepost: Any) -> None:
        done = fencepost("run", "--seed", "x", "etcd-postgres")

        assert done.returncode == 4
        assert "'x' is not a seed: give the integer that a run printed, such as 7" in done.stderr

    def test_all_targets_are_checked_before_anything_starts(self, fencepost: Any, tmp_path: Path) -> None:
        done = fencepost(
            "run", "etcd-postgres", "etcd-postgres-upsert", "--set", "lock.ttl=1s", "--set", "lock.nods=3"
        )

        assert done.returncode == 4
        assert done.stderr.count("--set lock.ttl=1s: ") == 2
        assert done.stderr.count("did you mean nodes?") == 2
        assert not (tmp_path / "runs").exists()

    def test_a_missing_run_is_refused(self, fencepost: Any, tmp_path: Path) -> None:
        (tmp_path / "runs" / "etcd-postgres").mkdir(parents=True)

        assert "; did you mean etcd-postgres?" in fencepost("recheck", "etcd-postgre").stderr
        assert fencepost("show", "etcd-postgre").returncode == 4


@pytest.mark.usefixtures("local_engine")
class TestMachine:
    def test_doctor_reports_every_check_and_whether_runs_are_possible(self, fencepost: Any) -> None:
        done = fencepost("doctor")

        assert done.returncode == 0, done.stdout
        assert done.stdout.startswith("ok  python")
        assert "docker engine" in done.stdout

    def test_without_killed_runs_there_is_nothing_to_clean(self, fencepost: Any) -> None:
        assert fencepost("clean").returncode == 0


class TestTargets:
    def test_shipped_targets_are_listed(self, fencepost: Any) -> None:
        lines = fencepost("targets").stdout.splitlines()

        assert any(line.startswith("etcd-postgres ") and line.endswith("expects valid") for line in lines)

    def test_the_list_is_available_as_json(self, fencepost: Any) -> None:
        listed = {each["name"]: each for each in json.loads(fencepost("targets", "--format", "json").stdout)}

        assert listed["etcd-postgres-unfenced"]["expect"] == ["stale-write"]
        assert Path(listed["etcd-postgres"]["path"]).is_file()

    def test_validate_accepts_valid_files_and_reports_errors(self, fencepost: Any, tmp_path: Path) -> None:
        (tmp_path / "wrong.toml").write_text('name = "wrong"\nexpect = "valid"\nlock = 3\n')

        done = fencepost("validate", "wrong.toml", str(ROOT / "targets/etcd-postgres.toml"))

        assert done.returncode == 4
        assert done.stdout.endswith("expects valid\n")
        assert done.stderr.splitlines() == [
            "wrong.toml: storage: is missing",
            "wrong.toml:3: lock = 3: must be a table",
        ]

    @pytest.mark.parametrize("name", schemas.schemas())
    def test_a_schema_can_be_printed(self, fencepost: Any, name: str) -> None:
        assert json.loads(fencepost("schema", name).stdout) == schemas.schemas()[name]


class TestRecheck:
    def test_a_fence_that_held_is_valid(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("fail")))

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("t: The fence held: 1 of 1 stale write refused\n")
        assert "  Verdict: valid, as this target expects\n" in done.stdout

    def test_an_accepted_stale_write_is_a_violation(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("ok")))

        assert done.returncode == 1
        assert done.stdout.startswith("t: BUG FOUND: the storage accepted a stale write\n")

    def test_an_expected_stale_write_is_a_success(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("ok"), expect=["stale-write"], fenced=False))

        assert done.returncode == 0
        assert "Verdict: invalid, as this target expects; stale-write ×1" in done.stdout

    def test_an_expected_anomaly_that_is_not_found_is_a_failure(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("fail"), expect=["stale-write"]))

        assert done.returncode == 1
        assert "expected stale-write was not found" in done.stdout

    def test_a_history_without_a_challenge_is_unknown(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([*grant(10, 0, 33), *write(20, 0, 33, "ok")]))

        assert done.returncode == 2
        assert "not exercised" in done.stdout

    def test_json_output_is_only_the_verdict(self, fencepost: Any, history: Any, tmp_path: Path) -> None:
        done = fencepost("recheck", "--format", "json", history(superseded("fail")))

        document = json.loads(done.stdout)
        jsonschema.validate(document, schemas.verdict())
        assert (document["verdict"], document["as_expected"]) == ("valid", True)
        assert (document["target"], document["history"]) == ("t", str(tmp_path / "history.jsonl"))
        assert done.stderr.startswith("t: The fence held")

    def test_a_commit_log_can_be_added(self, fencepost: Any, history: Any, tmp_path: Path) -> None:
        lines = [
            {"seq": 1, "resource": "r0", "token": 34, "value": "1-30"},
            {"seq": 2, "resource": "r0", "token": 33, "value": "0-40"},
        ]
        (tmp_path / "order.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

        done = fencepost("recheck", history(superseded("fail")), "--commits", "order.jsonl")

        assert done.returncode == 1

    @pytest.mark.parametrize(
        ("missing", "message"),
        [
            ("nope.edn", "there is no file, run or target nope.edn; runs has no runs\n"),
            ("/dev/null", "/dev/null is neither a regular file nor a run's folder\n"),
        ],
    )
    def test_a_file_that_is_neither_history_nor_run_is_refused(
        self, fencepost: Any, missing: str, message: str
    ) -> None:
        done = fencepost("recheck", missing)

        assert (done.returncode, done.stderr) == (4, message)

    def test_another_version_is_refused_with_the_supported_ones(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([], fencepost=2))

        assert done.returncode == 4
        assert "its version is 2, and this release of Fencepost reads version 1" in done.stderr

    def test_an_invalid_json_value_is_shown(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([event(10, float("nan"), "invoke", "read")]))

        assert done.returncode == 4
        assert ": NaN, in: " in done.stderr

    def test_a_broken_history_is_refused_with_its_line(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([event(10, 0, "ok", "acquire", owner="0-1", token=3)]))

        assert done.returncode == 4
        assert "history.jsonl:2:" in done.stderr
        assert "Traceback" not in done.stderr


class TestStreams:
    def test_a_broken_pipe_ends_the_command_silently(self, tmp_path: Path) -> None:
        read, written = os.pipe()
        os.close(read)
        with os.fdopen(written, "w") as stdout:
            done = subprocess.run(
                [*FENCEPOST, "schema"],
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                check=False,
            )

        assert (done.returncode, done.stderr) == (141, "")

    def test_a_full_disk_is_reported_without_a_traceback(self, tmp_path: Path) -> None:
        with Path("/dev/full").open("w") as stdout:
            done = subprocess.run(
                [*FENCEPOST, "targets"],
                stdout=stdout,
                stderr=subprocess.PIPE,
                text=True,
                cwd=tmp_path,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                check=False,
            )

        assert done.returncode == 3
        assert done.stderr == "this machine has run out of something: [Errno 28] No space left on device\n"

    def test_a_closed_stdout_is_not_an_error(self, history: Any, tmp_path: Path) -> None:
        file = history(superseded("fail"))
        command = " ".join([*FENCEPOST, "recheck", file, ">&-"])

        done = subprocess.run(
            ["sh", "-c", command],
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )

        assert (done.returncode, done.stderr) == (0, "")


SHORT = ["--engine", "local", "--set", "lock.nodes=1", "--set", "workload.duration=6s"]


@pytest.mark.usefixtures("local_engine")
class TestRun:
    def test_a_run_without_faults_is_not_exercised(self, fencepost: Any, tmp_path: Path) -> None:
        short = ["--set", "workload.duration=3s"]  # too short for faults
        words = ["run", "etcd-postgres", *SHORT, *short, "--no-faults", "--format", "json", "--seed", "7"]
        done = fencepost(*words, stdin=subprocess.DEVNULL)

        assert done.returncode == 2, done.stderr
        document = json.loads(done.stdout)
        jsonschema.validate(document, schemas.verdict())
        assert any("not exercised" in reason for reason in document["reasons"])
        newest = tmp_path / "runs" / "etcd-postgres" / "latest"
        assert json.loads((newest / "verdict.json").read_text()) == document
        assert "target.toml --seed 7 --engine local --no-faults\n" in done.stderr
        again = fencepost("recheck", "etcd-postgres", "--format", "json")
        assert "target.toml --seed 7 --engine local --no-faults\n" in again.stderr
        assert again.returncode == 2
        assert json.loads(again.stdout)["anomalies"] == document["anomalies"]

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
