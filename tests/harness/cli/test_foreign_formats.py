"""Histories of other tools on the command line, and what an import leaves out of them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checkers.models.judge import MODELS
from harness.cli import schemas
from tests.support.repository import HISTORIES

FOREIGN = HISTORIES / "foreign"
CAS = FOREIGN / "cas-register.valid.edn"
OURS = HISTORIES / "valid/strict-own-token.jsonl"


def test_recheck_judges_another_tools_history_by_a_model(fencepost: Any) -> None:
    right = fencepost("recheck", CAS, "--model", "cas-register")
    wrong = fencepost("recheck", FOREIGN / "cas-register.stale-read.invalid.edn", "--model", "cas-register")

    assert right.returncode == 0, right.stderr
    assert "VALID: one order of the operations explains every answer" in right.stdout
    assert wrong.returncode == 1, wrong.stderr
    assert "No order of the operations explains the answer to process 1 at line 7: " in wrong.stdout
    assert "  1. " in wrong.stdout


def test_recheck_by_a_model_prints_a_verdict_document(fencepost: Any) -> None:
    ran = fencepost(
        "recheck", FOREIGN / "fenced-mutex.duplicate-token.edn", "--model", "fenced-mutex", "--format", "json"
    )

    document = json.loads(ran.stdout)
    jsonschema.validate(document, schemas.schemas()["verdict"])
    assert ran.returncode == 1
    assert document["anomalies"] == {"duplicate-token": 1, "token-regression": 0, "non-linearizable": 0}
    assert document["findings"][0]["operations"] == [1, 2, 5, 6]
    assert document["target"] is None
    assert document["history"] == str(FOREIGN / "fenced-mutex.duplicate-token.edn")


@pytest.mark.parametrize(
    "content", ['{"a": 1, "b": [1, 2]}', "[1, 2, 3]", "some words", '{"a": 1}\n{"b": 2}']
)
def test_recheck_lists_formats_for_what_is_no_history(refusal: Any, tmp_path: Path, content: str) -> None:
    file = tmp_path / "rubbish.json"
    file.write_text(content)

    said = refusal("recheck", file)

    assert "is not a history that Fencepost knows" in said
    assert "Jepsen (EDN or JSON), Knossos (EDN) and Porcupine" in said
    assert "looks like" not in said


def test_an_unfit_model_of_exports_names_a_way_out(fencepost: Any, recorded_run: Any, tmp_path: Path) -> None:
    run, file = recorded_run("etcd-postgres"), tmp_path / "history.edn"
    fencepost("export", run, "--to", "jepsen-edn", "-o", file)

    leased = fencepost("recheck", file, "--model", "fenced-mutex").stderr
    mixed = fencepost("recheck", file, "--model", "register").stderr
    noted = fencepost("export", run, "--to", "jepsen-edn", "--model", "mutex", "-o", "-").stderr

    assert "judge that, with `fencepost recheck RUN` and no --model" in leased
    assert "`fencepost export --model register` keeps only the operations of a register" in mixed
    assert noted.startswith("note: leases may end without a release")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("recheck", CAS), "to judge another tool's history, name its model: --model cas-register"),
        (
            ("recheck", CAS, "--model", "cas-regster"),
            "unknown model cas-regster; did you mean cas-register?\n",
        ),
        (("recheck", CAS, "--model", "none"), ", ".join(sorted(MODELS))),
        (("recheck", CAS, "--model", "cas-register", "--commits", CAS), "--commits"),
        (("recheck", "/", "--model", "set"), "/ is not a run folder: it has no history.jsonl"),
        (("import", CAS, "--model", "cas-register"), "cannot express a cas-register"),
        (
            ("import", FOREIGN / "mutex.invalid.edn", "--model", "mutex"),
            "as a mutex this history is invalid, and history.jsonl cannot express why",
        ),
        (
            ("import", FOREIGN / "mutex.invalid.edn", "--model", "owned-mutex"),
            "as an owned-mutex this history is invalid, and history.jsonl cannot express why",
        ),
        (
            ("export", FOREIGN / "register.keys.invalid.edn", "--to", "porcupine-etcd"),
            "this history has 2: x, y; name one",
        ),
        (
            ("export", OURS, "--to", "jepsen-edn", "--key", "x9"),
            f"{OURS}:1: no operation is about x9; there are: r0\n",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused(fencepost: Any, arguments: tuple[Any, ...], said: str) -> None:
    ran = fencepost(*arguments)

    assert (ran.returncode, ran.stdout) == (4, "")
    assert said in ran.stderr


def test_no_hint_leaves_out_what_changes_the_object(refusal: Any, tmp_path: Path) -> None:
    file = tmp_path / "bank.edn"
    file.write_text(
        "{:type :invoke, :f :read, :process 0}\n{:type :ok, :f :read, :process 0, :value {0 5}}\n"
        "{:type :invoke, :f :transfer, :process 1, :value {:from 0, :to 1, :amount 5}}\n"
    )

    said = refusal("recheck", file, "--model", "register")

    assert "export" not in said
    assert "such as Elle for transactions" in said


def test_import_writes_a_history_that_recheck_judges(fencepost: Any, tmp_path: Path) -> None:
    ours = tmp_path / "history.jsonl"

    written = fencepost(
        "import", FOREIGN / "fenced-mutex.token-regression.edn", "--model", "fenced-mutex", "-o", ours
    )
    ran = fencepost("recheck", ours)

    assert written.returncode == 0, written.stderr
    assert ran.returncode == 1, ran.stderr
    assert "token 16" in ran.stdout


@pytest.mark.parametrize(("answer", "problem"), [("-5", "token -5 is below 0"), ('"five"', 'not "five"')])
def test_import_refuses_impossible_tokens(refusal: Any, tmp_path: Path, answer: str, problem: str) -> None:
    file = tmp_path / "history.edn"
    file.write_text(
        "{:process 0, :type :invoke, :f :acquire, :value nil}\n"
        f"{{:process 0, :type :ok, :f :acquire, :value {answer}}}\n"
    )

    said = refusal("import", file, "--model", "mutex")

    assert f"{file}:2: " in said
    assert problem in said


def test_export_writes_files_that_jepsen_and_porcupine_read(fencepost: Any, tmp_path: Path) -> None:
    for form in ("jepsen-edn", "porcupine-etcd"):
        file = tmp_path / form

        written = fencepost("export", OURS, "--to", form, "--model", "register", "--key", "r0", "-o", file)
        ran = fencepost("recheck", file, "--model", "register")

        assert written.returncode == 0, written.stderr
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_refused_import_does_not_change_an_existing_file(refusal: Any, tmp_path: Path) -> None:
    kept = tmp_path / "keep.jsonl"
    kept.write_text("recorded\n")

    refusal("import", CAS, "--model", "cas-register", "-o", kept, "--force")

    assert kept.read_text() == "recorded\n"
    assert [file.name for file in tmp_path.glob("*keep*")] == ["keep.jsonl"]


@pytest.mark.parametrize(
    "command",
    [
        ["import", FOREIGN / "fenced-mutex.token-regression.edn", "--model", "fenced-mutex"],
        ["export", OURS, "--to", "jepsen-edn"],
    ],
)
def test_no_file_is_overwritten_by_default(fencepost: Any, tmp_path: Path, command: list[Path | str]) -> None:
    kept = tmp_path / "keep"
    kept.write_text("recorded\n")

    refused = fencepost(*command, "-o", kept)
    early = fencepost(command[0], "there-is-none.json", *command[2:], "-o", kept)

    assert early.stderr == refused.stderr, "before any work"
    assert (refused.returncode, kept.read_text()) == (4, "recorded\n")
    assert refused.stderr == f"{kept} exists and was not overwritten; name another file, or add --force\n"
    assert fencepost(*command, "-o", kept, "--force").returncode == 0
    assert kept.read_text() == fencepost(*command).stdout


def test_a_pipe_is_written_to_directly(fencepost: Any) -> None:
    ran = fencepost("export", OURS, "--to", "jepsen-edn", "-o", "/dev/stdout")

    assert ran.returncode == 0, ran.stderr
    assert ":invoke" in ran.stdout


@pytest.mark.parametrize("file", ["nowhere/history.edn", "."])
def test_an_output_that_cannot_be_a_file_is_refused_in_a_sentence(refusal: Any, file: str) -> None:
    said = refusal("export", OURS, "--to", "jepsen-edn", "-o", file, "--force")

    assert "folder" in said
    assert "Traceback" not in said


def test_export_takes_a_run_as_recheck_does(fencepost: Any, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "t" / "one"
    run.mkdir(parents=True)
    (run / "history.jsonl").write_bytes(OURS.read_bytes())
    (run.parent / "latest").symlink_to("one")

    by_file = fencepost("export", OURS, "--to", "jepsen-edn")
    assert by_file.returncode == 0
    for named in (run, "t"):
        assert fencepost("export", named, "--to", "jepsen-edn").stdout == by_file.stdout


def test_a_run_that_was_killed_is_joined_before_it_is_exported(refusal: Any, tmp_path: Path) -> None:
    (tmp_path / "runs" / "t" / "one" / "events").mkdir(parents=True)

    said = refusal("export", "runs/t/one", "--to", "jepsen-edn")

    assert "has no history.jsonl yet: the run was killed\n" in said
    assert "judge it first: fencepost recheck runs/t/one\n" in said


def test_an_imported_register_is_not_headed_by_a_lock(fencepost: Any) -> None:
    fencepost("import", FOREIGN / "register.knossos.valid.edn", "--model", "register", "-o", "ours.jsonl")

    said = " ".join(fencepost("recheck", "ours.jsonl").stdout.split())

    assert "Nothing wrong was found: one order of the operations" in said
    assert "explains every answer There is no lock in this history: it says nothing about one, nor" in said


def test_an_import_says_what_it_leaves_out(fencepost: Any, tmp_path: Path) -> None:
    lock, register = tmp_path / "lock.edn", tmp_path / "register.edn"
    lock.write_text(
        "".join(
            f"{{:type {kind}, :f {f}, :process 0}}\n"
            for f in (":acquire", ":release")
            for kind in (":invoke", ":ok")
        )
    )
    register.write_text(
        "{:type :invoke, :f :read, :process 0}\n{:type :fail, :f :read, :process 0}\n"
        "{:type :invoke, :f :read, :process 1}\n{:type :info, :f :read, :process 1}\n"
        "{:type :invoke, :f :read, :process 2}\n{:type :ok, :f :read, :process 2}\n"
    )

    of_lock = fencepost("import", lock, "--model", "owned-mutex", "-o", "-").stderr
    of_register = fencepost("import", register, "--model", "register", "-o", "-").stderr

    assert of_lock == "note: 1 operation is left out: a grant without a token shows nothing about tokens\n"
    assert of_register == (
        "note: 1 operation is left out: a failure shows nothing\n"
        "note: 1 operation is left out: a read without an answer shows nothing\n"
    )


def test_an_import_names_the_operations_of_other_objects(fencepost: Any, tmp_path: Path) -> None:
    ours = tmp_path / "history.jsonl"
    hold = {"resource": "r0", "process": 0}
    events = [
        {"time": 1, "type": "invoke", "f": "acquire", "owner": "a", **hold},
        {"time": 2, "type": "ok", "f": "acquire", "owner": "a", "token": 1, **hold},
        {"time": 3, "type": "invoke", "f": "read", **hold},
        {"time": 4, "type": "ok", "f": "read", "token": 0, "value": None, **hold},
        {"time": 5, "type": "invoke", "f": "release", "owner": "a", **hold},
        {"time": 6, "type": "ok", "f": "release", "owner": "a", **hold},
    ]
    lines = [{"fencepost": 1, "target": "t"}, *events]
    ours.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    said = fencepost("import", ours, "--model", "register", "-o", "-").stderr

    assert said == "note: 2 operations are left out, which cannot change a register: acquire ×1, release ×1\n"


def test_an_import_without_an_operation_says_so(fencepost: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")

    ran = fencepost("import", "empty.json", "--model", "register", "-o", "-")

    assert (ran.returncode, ran.stdout.count("\n")) == (0, 1)
    assert ran.stderr == "note: there is no operation to import: only the header is written\n"
