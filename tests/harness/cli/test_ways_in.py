"""Histories of other tools from standard input, compressed files, and folders of Jepsen."""

import gzip
import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkers import formats
from checkers.history.files import decompressed
from checkers.text import limits
from checkers.text.errors import HistoryError
from harness.cli import main
from tests.support import command
from tests.support.repository import HISTORIES, ROOT

FOREIGN = HISTORIES / "foreign"
VALID, INVALID = FOREIGN / "cas-register.valid.edn", FOREIGN / "cas-register.stale-read.invalid.edn"
BY_MODEL = ("--model", "cas-register")
OURS = HISTORIES / "valid/strict-own-token.jsonl"


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Call the command in this process, with some bytes on its standard input."""

    def call(content: bytes, *arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return ended.value.code or 0, *capsys.readouterr()

    return call


@pytest.mark.slow
def test_recheck_reads_standard_input(tmp_path: Path, piped: Any) -> None:
    words = [*command.FENCEPOST, "recheck", "-", *BY_MODEL]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with VALID.open() as file:
        right = subprocess.run(
            words, cwd=tmp_path, env=environment, stdin=file, capture_output=True, text=True, check=False
        )
    code, document, _ = piped(INVALID.read_bytes(), "recheck", "-", *BY_MODEL, "--format", "json")

    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.startswith("standard input as cas-register: VALID")
    assert (code, json.loads(document)["history"]) == (1, None)


def test_import_and_export_read_standard_input(piped: Any) -> None:
    lock = (FOREIGN / "fenced-mutex.valid.edn").read_bytes()

    imported, ours, _ = piped(lock, "import", "-", "--model", "fenced-mutex")
    exported, theirs, _ = piped(OURS.read_bytes(), "export", "-", "--to", "jepsen-edn")

    assert (imported, exported) == (0, 0)
    assert json.loads(ours.splitlines()[0])["fencepost"] == 1
    assert ":invoke" in theirs


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "standard input:1: the file is empty\n"),
        (b"\xff\n", "standard input:1: not UTF-8 (invalid start byte at byte 0: ff 0a)\n"),
        (b"{:process 0, :type :ok, :f :read}\n", "standard input:1: process 0 has no operation open"),
    ],
)
def test_a_refusal_names_standard_input(piped: Any, content: bytes, problem: str) -> None:
    code, _, said = piped(content, "recheck", "-", *BY_MODEL)

    assert code == 4
    assert said.startswith(problem)


def test_standard_input_needs_a_model(refusal: Any) -> None:
    assert refusal("recheck", "-") == "standard input is read with --model; without, name a run or a file\n"


@pytest.mark.parametrize("name", ["history.edn.gz", "history"])
def test_a_compressed_history_is_read_whatever_its_name(fencepost: Any, tmp_path: Path, name: str) -> None:
    half = len(INVALID.read_bytes()) // 2
    parts = INVALID.read_bytes()[:half], INVALID.read_bytes()[half:]
    (tmp_path / name).write_bytes(b"".join(map(gzip.compress, parts)))

    ran = fencepost("recheck", name, *BY_MODEL)

    assert ran.returncode == 1
    assert "at line 7: " in ran.stdout


def test_standard_input_may_be_compressed(piped: Any) -> None:
    assert piped(gzip.compress(VALID.read_bytes()), "recheck", "-", *BY_MODEL)[0] == 0


def test_a_damaged_compressed_file_is_refused_in_a_sentence(refusal: Any, tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(VALID.read_bytes())[:-9])

    said = refusal("recheck", "cut.gz", *BY_MODEL)

    assert said.startswith("cut.gz: it cannot be decompressed: ")
    assert said.endswith("; check it with gunzip -t\n")


def test_a_file_that_expands_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b" " * (limits.EXPANDED + 1)))

    with pytest.raises(HistoryError, match=r"bomb\.gz: it expands to more than 64 MiB; if that is right"):
        formats.read(bomb)


@pytest.mark.slow
def test_a_compressed_text_is_read_up_to_a_null_byte(tmp_path: Path) -> None:
    holes = tmp_path / "holes.gz"
    holes.write_bytes(gzip.compress(b"\0" * (2 * limits.EXPANDED)))

    with pytest.raises(HistoryError, match=r"holes\.gz:1: this is not a history that Fencepost knows"):
        formats.read(holes)


@pytest.mark.slow
def test_a_large_compressed_file_may_expand_a_hundredfold() -> None:
    spaces = limits.EXPANDED + 1
    content = gzip.compress(os.urandom(1 << 20).replace(b"\0", b"1") + b" " * spaces)

    assert len(decompressed(content, "large", limits.HISTORY)) == (1 << 20) + spaces


def test_another_tools_compressed_history_is_shown_how_to_judge_it(fencepost: Any, tmp_path: Path) -> None:
    (tmp_path / "theirs.gz").write_bytes(gzip.compress(VALID.read_bytes()))
    (tmp_path / "ours.gz").write_bytes(gzip.compress(OURS.read_bytes()))

    theirs, ours = fencepost("recheck", "theirs.gz"), fencepost("recheck", "ours.gz")

    assert "looks like jepsen-edn: to judge another tool's history, name its model" in theirs.stderr
    assert ours.stderr.endswith("it is compressed; decompress it with gunzip, and name the result\n")
    assert (theirs.returncode, ours.returncode) == (4, 4)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder as Jepsen leaves it, after one test with one run."""
    store = tmp_path / "store"
    run = store / "etcd" / "20260101T000000.000Z"
    run.mkdir(parents=True)
    (run / "history.edn").write_bytes(VALID.read_bytes())
    (store / "etcd" / "latest").symlink_to("20260101T000000.000Z")
    (store / "latest").symlink_to("etcd/20260101T000000.000Z")
    return store


@pytest.mark.parametrize("named", ["etcd/20260101T000000.000Z", "etcd/latest", "etcd", "latest"])
def test_a_folder_of_jepsen_is_read(fencepost: Any, store: Path, named: str) -> None:
    ran = fencepost("recheck", store / named, *BY_MODEL)

    assert ran.returncode == 0, ran.stderr
    assert "history.edn as cas-register: VALID" in ran.stdout


@pytest.mark.parametrize(
    ("named", "model", "said"),
    [
        ("etcd", (), "but looks like jepsen-edn: to judge another tool's history, name its model"),
        ("", BY_MODEL, "latest is not a link to a folder beside it; name the folder that you mean"),
    ],
    ids=["without a model", "the latest of all tests"],
)
def test_a_folder_of_jepsen_needs_a_model_and_one_test(
    refusal: Any, store: Path, named: str, model: tuple[str, ...], said: str
) -> None:
    assert said in refusal("recheck", store / named, *model)


def test_a_half_written_first_line_may_be_ours(refusal: Any, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('{"type":"header"')

    assert refusal("recheck", file).endswith("it may be the cut-off beginning of a history.jsonl\n")


def test_a_folder_of_jepsen_is_exported(fencepost: Any, store: Path) -> None:
    ran = fencepost("export", store / "etcd", "--to", "porcupine-etcd")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == fencepost("export", VALID, "--to", "porcupine-etcd").stdout


def test_no_link_in_a_folder_of_jepsen_is_followed(refusal: Any, store: Path) -> None:
    history = store / "etcd" / "20260101T000000.000Z" / "history.edn"
    history.unlink()
    history.symlink_to(VALID)

    said = refusal("recheck", store / "etcd", *BY_MODEL)

    assert f"{history}: this is a symbolic link, and only regular files are read" in said


def test_the_run_of_fencepost_in_a_folder_comes_first(fencepost: Any, store: Path) -> None:
    run = store / "etcd" / "20260101T000000.000Z"
    (run / "history.jsonl").write_bytes(OURS.read_bytes())

    ran = fencepost("recheck", run, "--model", "register")

    assert "history.jsonl as register: VALID" in ran.stdout, ran.stderr


@pytest.mark.parametrize("content", ['{"ClientId":2,"Input":{"Type":"range"}}', '[{"ClientId": 1}]'])
@pytest.mark.parametrize("model", [(), BY_MODEL])
def test_operations_of_etcds_robustness_tests_are_refused_by_name(
    refusal: Any, tmp_path: Path, content: str, model: tuple[str, ...]
) -> None:
    (tmp_path / "operations.json").write_text(content)

    said = refusal("recheck", "operations.json", *model)

    assert "operations.json: these are operations as etcd's robustness tests save them" in said
    assert "and run make test-robustness-reports there" in said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("history.edn.gz", VALID.read_bytes()),
        ("history.json", b'{"process":0,"type":"invoke","f":"read"}\n'),
        ("history.json.gz", b'{"process":0,"type":"invoke","f":"read"}\n'),
        ("history.txt", b"0\t:invoke\t:read\tnil\n"),
        ("history.jsonl.gz", b'{"fencepost":1,"target":"t"}\n'),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_folder_stands_for_its_history(
    fencepost: Any, refusal: Any, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    by_model = fencepost("recheck", "theirs", *BY_MODEL)
    assert f"theirs/{name} as cas-register: " in by_model.stdout, by_model.stderr
    assert f"theirs/{name}: " in refusal("recheck", "theirs")


@pytest.mark.parametrize("named", ["report", "report/client-2"])
@pytest.mark.parametrize("model", [(), BY_MODEL])
def test_a_report_of_etcds_robustness_tests_is_refused_by_name(
    refusal: Any, tmp_path: Path, named: str, model: tuple[str, ...]
) -> None:
    (tmp_path / "report" / "client-1").mkdir(parents=True)
    (tmp_path / "report" / "client-2").mkdir()
    (tmp_path / "report" / "client-2" / "operations.json").write_text('{"ClientId":2}')

    said = refusal("recheck", named, *model)

    assert "report/client-2/operations.json: these are operations as etcd's robustness tests" in said


@pytest.mark.parametrize("model", [(), BY_MODEL])
def test_a_file_that_may_be_a_history_is_named(refusal: Any, tmp_path: Path, model: tuple[str, ...]) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "etcd_001.log").write_bytes(b"0\t:invoke\t:read\tnil\n")

    said = refusal("recheck", "theirs", *model)

    assert said.endswith("it has no history.jsonl; if etcd_001.log in it is one, name that file\n")


def test_the_first_line_names_the_option_for_a_start_with_zero(fencepost: Any, tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(
        "{:process 0, :type :invoke, :f :read}\n{:process 0, :type :ok, :f :read, :value 0}\n"
    )

    wrong = fencepost("recheck", "history.edn", *BY_MODEL)
    right = fencepost("recheck", "history.edn", *BY_MODEL, "--initial", "0")

    assert wrong.returncode == 1
    assert wrong.stdout.splitlines()[0] == (
        "history.edn as cas-register: VIOLATION: found non-linearizable, which was not expected; the answers"
        " are possible if the cas-register starts with 0: add --initial 0"
    )
    assert (right.returncode, right.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--initial", "x", *BY_MODEL], "--initial x: not JSON: Expecting value; a text has quotes: '\"x\"'"),
        (["--initial", "[", *BY_MODEL], "--initial [: not JSON: "),
        (["--initial", "NaN", *BY_MODEL], "--initial NaN: not JSON: NaN cannot be compared; "),
        (["--initial", "0"], "--initial goes with --model: a Fencepost history has its own initial value"),
        (["--initial", '"a"', "--model", "counter"], 'a counter starts with a whole number, not "a"'),
    ],
)
def test_an_unfit_initial_value_is_refused(refusal: Any, arguments: list[str], problem: str) -> None:
    assert refusal("recheck", VALID, *arguments).startswith(problem)


def test_import_and_export_take_an_initial_value(fencepost: Any, tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(
        "{:process 0, :type :invoke, :f :read}\n{:process 0, :type :ok, :f :read, :value 0}\n"
    )

    ours = fencepost("import", "history.edn", "--model", "register", "--initial", "0")
    theirs = fencepost("export", "history.edn", "--to", "porcupine-etcd", "--initial", "0")

    assert json.loads(ours.stdout.splitlines()[0])["initial"] == {"value": 0, "token": 0}
    assert theirs.stdout.splitlines()[1] == "INFO  jepsen.util - 1\t:ok\t:write\t0"


def test_an_export_by_a_model_says_what_it_leaves_out(fencepost: Any, tmp_path: Path) -> None:
    events = ((f, kind) for f in (":write", ":cas") for kind in (":invoke", ":ok"))
    (tmp_path / "history.edn").write_text(
        "".join(f"{{:process 0, :type {kind}, :f {f}, :value [1 2]}}\n" for f, kind in events)
    )

    ran = fencepost("export", "history.edn", "--to", "jepsen-edn", "--model", "register")

    assert (ran.returncode, ran.stdout.count(":write"), ran.stdout.count(":cas")) == (0, 2, 0)
    assert ran.stderr.startswith("note: 1 operation is left out, which a register does not have: cas ×1;")
