"""Hostile input to every command: one sentence and an exit code, never a traceback."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from checkers.history import faults
from checkers.history.reader import parse
from checkers.history.records import FaultEvent
from checkers.text.nearest import nearest
from checkers.verdict.judge import judge
from harness.cli import main
from harness.core.exit_codes import ExitCode
from harness.report.run import write
from harness.spec.toml import lines_of_keys
from tests.support.repository import HISTORIES, ROOT

DEEP = "[" * 100_000 + "]" * 100_000
DIGITS = "9" * 5_000
NAME = "n" * 5_000
TARGET = ROOT / "targets" / "etcd-postgres.toml"
HISTORY = HISTORIES / "stale-write/unfenced.jsonl"


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run a command that must be refused as bad configuration, and return its message."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any) -> str:
        with pytest.raises(SystemExit) as ended:
            main([str(each) for each in arguments])
        said = "".join(capsys.readouterr())
        assert ended.value.code == ExitCode.CONFIGURATION, said
        assert "Traceback" not in said
        assert len(said) < 10_000
        return said

    return run


TARGETS = {
    "deep lists": ("x = " + "[" * 30_000 + "]" * 30_000, "nested deeper than 16"),
    "deep dotted keys": (".".join("a" * 30_000) + " = 1", "nested deeper than 16"),
    "a deep header": ("[" + ".".join("a" * 20_000) + "]", "nested deeper than 16"),
    "a number of many digits": (f"x = {DIGITS}", "beyond 64 bits"),
    "a hexadecimal number of many digits": (f"x = 0x{DIGITS}", "beyond 64 bits"),
    "a name of many characters": (f'name = "{NAME}"', "(5,002 characters)"),
    "a key of many characters": (f"{NAME} = 1", "(5,000 characters)"),
    "a kind that is a list": ('[[faults]]\nkind = ["pause"]', "there is no such kind"),
    "a kind that is a table": ("[lock]\nkind = {a = 1}", "there is no such kind"),
    "a kind that is a number": ("[storage]\nkind = 7", "there is no such kind"),
    "a kind of many characters": (f'[lock]\nkind = "{NAME}"', "(5,002 characters)"),
    "half of a string": ('name = "a', "invalid TOML"),
    "half of a table": ("[lock", "invalid TOML"),
    "a line of controls": ("\x1b[31m", "invalid TOML"),
    "too long": ("#" * ((1 << 16) + 1), "more than 64 KiB"),
    "nothing": ("", "is missing"),
}


@pytest.mark.parametrize(("text", "why"), TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_hostile_target_is_refused(refused: Any, tmp_path: Path, command: str, text: str, why: str) -> None:
    (tmp_path / "t.toml").write_text(text, encoding="utf-8")

    assert why in refused(command, "t.toml")


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"name = '\xff'", b"\x00" * 100])
def test_a_binary_target_is_refused_in_a_sentence(refused: Any, tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "t.toml").write_bytes(raw)

    assert "t.toml" in refused("validate", "t.toml")


def test_header_like_lines_in_a_string_are_parsed_fast() -> None:
    lines_of_keys(f'x = """\n[{" " * 200_000}\n"""')


def test_an_error_has_the_line_in_the_file(refused: Any, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text("# \u2028 \x85\nname = 1\n", encoding="utf-8")

    assert "t.toml:2: name" in refused("validate", "t.toml")


SETS = {
    "deep lists": (f"x={'[' * 5_000}{']' * 5_000}", "nested deeper than 16"),
    "a number of many digits": (f"x={DIGITS}", "beyond 64 bits"),
    "an index of many digits": (f"faults.{DIGITS}.x=1", "the target has no such key"),
    "a superscript as an index": ("faults.²=1", "the target has no such key"),
    "an index of another script": ("faults.\u0660.kind=1", "the target has no such key"),
    "a negative index": ("faults.-1.kind=1", "the target has no such key"),
    "a key of many parts": (".".join("a" * 20_000) + "=1", "more than 16 parts"),
    "no key": ("=1", "write it as key=value"),
    "no value": ("a", "write it as key=value"),
    "more than one value": ("name='a'\nexpect=1", "more than one TOML value"),
    "half of a list": ("may=[", "is not a TOML value"),
    "no UTF-8": ("name=\udcff", "is not UTF-8"),
}


@pytest.mark.parametrize(("option", "why"), SETS.values(), ids=SETS.keys())
def test_a_hostile_setting_is_refused_in_a_sentence(refused: Any, option: str, why: str) -> None:
    assert why in refused("validate", TARGET, "--set", option)


@pytest.mark.slow
@pytest.mark.parametrize(
    "word",
    [NAME, f"{NAME}.toml", f"x/{NAME}", "[*" * 3_000, "a\0b"],
    ids=["long", "file", "folder", "pattern", "null"],
)
@pytest.mark.parametrize(
    "command",
    [
        ("run",),
        ("validate",),
        ("recheck",),
        ("recheck", "--model", "register"),
        ("show",),
        ("import", "--model", "register"),
        ("export", "--to", "jepsen-edn"),
        ("zoo",),
    ],
    ids=" ".join,
)
def test_an_impossible_file_name_is_refused(refused: Any, command: tuple[str, ...], word: str) -> None:
    refused(command[0], word, *command[1:])


def test_an_impossible_place_for_runs_or_output_is_refused(refused: Any) -> None:
    refused("export", HISTORY, "--to", "jepsen-edn", "-o", NAME)
    refused("show", "x", "--runs", NAME)
    refused("show", f"{'a' * 200}/x", "--runs", "/".join(["b" * 200] * 20))


def test_suggestions_for_a_long_name_are_fast() -> None:
    began = time.process_time()

    assert nearest("etcd-postgers", ["etcd-postgres"]) == "etcd-postgres"
    assert nearest("ab" * 50_000_000, ["etcd-postgres"]) is None
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "/proc/self/mem"),
        ("recheck", str(HISTORY), "--commits", "/proc/self/mem"),
        ("import", "/proc/self/mem", "--model", "register"),
    ],
    ids=" ".join,
)
def test_an_unreadable_file_is_refused_in_a_sentence(refused: Any, arguments: tuple[str, ...]) -> None:
    assert "cannot be read" in refused(*arguments)


FOREIGN = {
    "deep JSON": '{"process": 0, "type": "invoke", "f": "read", "value": ' + DEEP + "}\n",
    "a number of many digits": '{"process": 0, "type": "invoke", "f": "read", "value": ' + DIGITS + "}\n",
    "half of a surrogate pair": '{:process 0, :type :invoke, :f :write, :value "\\ud800"}\n',
    "half of a pair as a character": "{:process 0, :type :invoke, :f :write, :value \\ud800}\n",
    "a superscript as a number": "{:process ², :type :invoke, :f :write, :value 1}\n",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
@pytest.mark.parametrize(
    "command",
    [("recheck", "--model", "register"), ("import", "--model", "register"), ("export", "--to", "jepsen-edn")],
)
def test_no_hostile_history_passes(refused: Any, tmp_path: Path, command: tuple[str, ...], text: str) -> None:
    (tmp_path / "history").write_text(text, encoding="utf-8")

    refused(command[0], "history", *command[1:])


HEADER = '"fencepost":1,"target":"t"'
OURS = {
    "a deep header": "{" + HEADER + ',"x":' + DEEP + "}\n",
    "a deep event": "{" + HEADER + "}\n" + '{"time":1,"x":' + DEEP + "}\n",
    "a deep fault": "{" + HEADER + "}\n" + '{"process":"nemesis","x":' + DEEP + "}\n",
    "a time of many digits": "{" + HEADER + "}\n" + '{"time":' + DIGITS + "}\n",
    "a version of many digits": '{"fencepost":' + DIGITS + "}\n",
}


@pytest.mark.parametrize("text", OURS.values(), ids=OURS.keys())
def test_a_hostile_history_of_ours_is_refused_in_a_sentence(refused: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "history.jsonl").write_text(text, encoding="utf-8")

    refused("recheck", "history.jsonl")


VERDICTS = {
    "cut short": '{"verdict": "inval',
    "with the verdict alone": '{"verdict": "valid"}',
    "deep": '{"verdict": ' + DEEP + "}",
    "of other types": '{"verdict": "invalid", "findings": [{}], "coverage": [1], "anomalies": {"x": "y"}}',
    "a list": "[]",
    "of no text": "\udcff",
}


@pytest.mark.parametrize("text", VERDICTS.values(), ids=VERDICTS.keys())
def test_an_incomplete_run_folder_is_refused_in_a_sentence(refused: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "verdict.json").write_text(text, encoding="utf-8", errors="surrogateescape")

    assert "is not a run folder" in refused("show", "run")


def test_a_file_that_is_in_no_run_folder_is_refused_by_name(refused: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    assert "mine.txt is not in the folder of a run" in refused("show", "mine.txt")


@pytest.mark.parametrize("number", [DIGITS, "²", "٣"])
def test_a_fault_with_an_invalid_client_number_has_no_client(number: str) -> None:
    event = FaultEvent(
        time=1,
        kind="pause",
        target=f"client:{number}",
        state="in force",
        evidence="",
        owner=None,
        resource=None,
        line=2,
    )

    assert faults.faults_of([event])[0].client is None


def test_a_received_run_folder_runs_no_code_of_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command that reads a folder runs its class or program, even if it is the current folder."""
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.chdir(tmp_path)
    ran = tmp_path / "ran"
    shutil.copy(HISTORY, tmp_path / "history.jsonl")
    (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass Lock: pass\nclass Storage: pass\n")
    (tmp_path / "target.toml").write_text(
        'name = "t"\nexpect = "valid"\n[lock]\nkind = "evil:Lock"\n'
        '[storage]\nkind = "evil:Storage"\nfencing = "yes"\n'
        f'[client]\ncommand = ["touch", "{ran}"]\n'
    )

    for command in (
        ("recheck", "."),
        ("show", "."),
        ("export", ".", "--to", "jepsen-edn"),
        ("import", ".", "--model", "fenced-mutex"),
        ("validate", "target.toml"),
        ("validate", "."),
    ):
        with pytest.raises(SystemExit):
            main(command)

    assert "Traceback" not in "".join(capsys.readouterr())
    assert not ran.exists()


@pytest.mark.slow
def test_a_report_stays_under_10_mb_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    lines = HISTORY.read_text().splitlines(keepends=True)
    shutil.copy(HISTORY, tmp_path / "history.jsonl")
    document = judge(parse(lines)).to_document()
    document["findings"] = [document["findings"][0] | {"steps": ["x" * 4_000] * 40}] * 100
    (tmp_path / "verdict.json").write_text(json.dumps(document))

    page = write(tmp_path).read_bytes()

    assert len(page) < 10_000_000
    assert b"too large for a page" in page
