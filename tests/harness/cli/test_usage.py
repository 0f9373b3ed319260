"""Help, suggestions, usage errors, lists, the names in errors, and standard output that is closed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers.text import limits
from harness.cli import schemas
from tests.support import command
from tests.support.command import FENCEPOST
from tests.support.repository import ROOT
from tests.support.short_histories import superseded


class TestHelp:
    def test_help_loads_nothing_heavy(self) -> None:
        heavy = {
            "difflib",
            "docker",
            "grpc",
            "jinja2",
            "json",
            "msgspec",
            "numpy",
            "psycopg",
            "pydantic",
            "random",
            "rich",
        }
        loaded = "import sys, harness.cli.app; print(*{name.partition('.')[0] for name in sys.modules})"

        asked = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)

        assert heavy.isdisjoint(asked.stdout.split())

    def test_help_lists_the_exit_codes(self, fencepost: Any) -> None:
        assert "130  interrupted" in fencepost("--help").stdout

    def test_the_version_is_printed(self, fencepost: Any) -> None:
        assert fencepost("--version").stdout.startswith("fencepost, version ")

    def test_ctrl_c_while_modules_are_loading_ends_in_one_word(self) -> None:
        interrupted = (
            "import builtins, harness.cli\nload = builtins.__import__\n"
            "def interrupt(name, *rest):\n"
            "    if name == 'click': raise KeyboardInterrupt\n"
            "    return load(name, *rest)\n"
            "builtins.__import__ = interrupt\nharness.cli.main(['--help'])"
        )

        done = subprocess.run(
            [sys.executable, "-c", interrupted], check=False, capture_output=True, text=True
        )

        assert (done.returncode, done.stderr) == (130, "interrupted\n")


class TestWrongUse:
    @pytest.mark.parametrize(
        ("typed", "meant"), [(["rnu"], "run"), (["campaign", "rechek", "--history", "nights.db"], "recheck")]
    )
    def test_a_misspelled_command_gets_a_suggestion(self, refusal: Any, typed: list[str], meant: str) -> None:
        assert f"Did you mean '{meant}'?" in refusal(*typed)

    @pytest.mark.parametrize("command", [[], ["campaign"], ["corpus"]])
    def test_without_arguments_the_help_is_printed(self, fencepost: Any, command: list[str]) -> None:
        done = fencepost(*command)

        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr.startswith(" ".join(["Usage: fencepost", *command, "[OPTIONS]"]))
        assert "\nCommands:\n" in done.stderr
        assert "Error" not in done.stderr

    def test_a_misspelled_target_gets_a_suggestion(self, fencepost: Any) -> None:
        done = fencepost("run", "etcd-postgre")

        assert (done.returncode, done.stdout) == (4, "")
        assert done.stderr == "unknown target etcd-postgre; did you mean etcd-postgres?\n"

    def test_a_target_file_without_its_ending_is_suggested(self, tmp_path: Path) -> None:
        (tmp_path / "gate.toml").touch()

        assert (
            command.fencepost(tmp_path, "run", "gate").stderr
            == "unknown target gate; did you mean gate.toml?\n"
        )

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("run", "unknown target nosuch; `fencepost targets` lists all"),
            ("zoo", "the zoo has no bug called nosuch; docs/zoo.md lists all"),
        ],
    )
    def test_an_unknown_name_is_reported_in_one_line(self, fencepost: Any, command: str, said: str) -> None:
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

    @pytest.mark.slow
    def test_every_target_of_a_folder_is_validated(self, fencepost: Any) -> None:
        done = fencepost("validate", str(ROOT / "targets"))

        assert done.returncode == 0
        assert done.stdout.count(": ok, ") == len(list((ROOT / "targets").glob("*.toml")))

    def test_an_invalid_seed_is_reported_with_an_example(self, refusal: Any) -> None:
        said = refusal("run", "--seed", "x", "etcd-postgres")

        assert "'x' is not a seed: give the integer that a run printed, such as 7" in said

    def test_all_targets_are_checked_before_anything_starts(self, refusal: Any, tmp_path: Path) -> None:
        said = refusal(
            "run", "etcd-postgres", "etcd-postgres-upsert", "--set", "lock.ttl=1s", "--set", "lock.nods=3"
        )

        assert said.count("--set lock.ttl=1s: ") == 2
        assert said.count("did you mean nodes?") == 2
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
            "wrong.toml:3: lock = 3: must be a table: write its name in brackets, and its keys below",
        ]

    def test_validate_says_that_no_engine_here_can_run_a_valid_target(self, tmp_path: Path) -> None:
        target = str(ROOT / "targets/redlock-postgres-clock.toml")

        done = command.fencepost(tmp_path, "validate", target, DOCKER_HOST="unix:///nowhere/docker.sock")

        assert done.returncode == 0
        assert f"{target}: ok, " in done.stdout
        assert (
            f"{target}: no engine of this machine can run it: the local engine cannot move the clock"
            in done.stderr
        )

    def test_validate_says_that_a_program_is_missing_on_this_machine(self, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text(
            'name = "mine"\nexpect = "valid"\nclient = {command = ["./my-lock"], side = "lock"}\n[lock]\nkind = "redis"\n'
            '[storage]\nkind = "sqlite"\nfencing = "conditional-update"\n'
        )

        done = command.fencepost(tmp_path, "validate", "mine.toml")

        assert done.returncode == 0
        assert done.stdout.startswith("mine.toml: ok, ")
        assert "mine.toml: client.command: there is no executable program ./my-lock" in done.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("name", schemas.schemas())
    def test_a_schema_can_be_printed(self, fencepost: Any, name: str) -> None:
        assert json.loads(fencepost("schema", name).stdout) == schemas.schemas()[name]


def run(command: list[str], folder: Path, stdout: Any = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment, check=False
    )


class TestStreams:
    @pytest.mark.slow
    def test_a_broken_pipe_ends_the_command_silently(self, tmp_path: Path) -> None:
        read, written = os.pipe()
        os.close(read)
        with os.fdopen(written, "w") as stdout:
            done = run([*FENCEPOST, "schema"], tmp_path, stdout)

        assert (done.returncode, done.stderr) == (141, "")

    @pytest.mark.slow
    def test_a_full_disk_is_reported_without_a_traceback(self, tmp_path: Path) -> None:
        with Path("/dev/full").open("w") as stdout:
            done = run([*FENCEPOST, "targets"], tmp_path, stdout)

        assert done.returncode == 3
        assert done.stderr == "this machine has run out of something: [Errno 28] No space left on device\n"

    @pytest.mark.slow
    def test_a_closed_stdout_is_not_an_error(self, history: Any, tmp_path: Path) -> None:
        file = history(superseded("fail"))
        command = " ".join([*FENCEPOST, "recheck", file, ">&-"])

        done = run(["sh", "-c", command], tmp_path)

        assert (done.returncode, done.stderr) == (0, "")


TARGET = """
name = "mine"
expect = ["stale-write"]
[lock]
{lock}
ttl = "2s"
[storage]
kind = "postgres"
fencing = "none"
"""
REFUSED = (
    "{:process 0, :type :invoke, :f :write, :value 1}\n{:process 1, :type :invoke, :f :write, :value nil}\n"
)


@pytest.mark.parametrize(
    ("lock", "code", "said"),
    [
        ('kind = "nowhere:Class"', 4, "lock.kind: nowhere:Class cannot be loaded"),
        (
            'kind = "http"\nurl = "http://127.0.0.1:1"',
            3,
            "infrastructure failure: nothing answers at lock.url",
        ),
    ],
    ids=["class", "service"],
)
def test_what_cannot_be_reached_is_named_after_its_target(
    fencepost: Any, tmp_path: Path, lock: str, code: int, said: str
) -> None:
    (tmp_path / "t.toml").write_text(TARGET.format(lock=lock))

    ran = fencepost("run", "t.toml", "--engine", "local")

    assert ran.returncode == code
    assert ran.stderr.startswith(f"mine: {said}")


def test_what_an_etcd_log_cannot_express_has_one_line(refusal: Any, tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(REFUSED)

    said = refusal("export", "history.edn", "--to", "porcupine-etcd")

    assert said == "history.edn:2: an etcd log cannot express a write of nil\n"


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("corpus/entry/expected.json", ("corpus", "check", "corpus")),
        ("plan.json", ("run", "etcd-postgres", "--plan", "plan.json", "--engine", "local")),
        ("night/plan.json", ("campaign", "merge", "night")),
    ],
)
def test_a_document_that_cannot_be_read_is_named_once(
    refusal: Any, tmp_path: Path, path: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    with (tmp_path / path).open("wb") as file:
        file.truncate(limits.NIGHT + 1)

    said = next(line for line in refusal(*arguments).splitlines() if "it has more than " in line)
    assert [said.count(name) for name in path.split("/")] == [1] * len(path.split("/"))
