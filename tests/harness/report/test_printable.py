"""What others wrote, on a terminal, in JSON and in a page: no character acts, and nothing is endless."""

import io
import json
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.formats import atoms
from checkers.history.reader import parse
from checkers.text import printable
from checkers.text.errors import FencepostError, HistoryError
from checkers.verdict.judge import judge
from harness.cli import app
from harness.cli.progress import progress
from harness.clients.recorder import Recorder
from harness.report.console import PlainConsole, Screen
from harness.report.lines import StyledLine
from harness.spec.file_errors import Problem
from harness.spec.toml import dumps

UNSEEN = {
    "a C0 control": ("\x1b", r"\x1b"),
    "a C1 control": ("\x9b", r"\x9b"),
    "delete": ("\x7f", r"\x7f"),
    "a newline": ("\n", r"\n"),
    "a return": ("\r", r"\r"),
    "a bidi override": ("\u202e", r"\u202e"),
    "a bidi isolate": ("\u2066", r"\u2066"),
    "a zero-width space": ("\u200b", r"\u200b"),
    "a byte order mark": ("\ufeff", r"\ufeff"),
    "a line separator": ("\u2028", r"\u2028"),
    "a variation selector": ("\ufe0f", r"\ufe0f"),
    "a Hangul filler": ("\u3164", r"\u3164"),
    "half of a surrogate pair": ("\ud800", r"\ud800"),
    "a tag": ("\U000e0041", r"\U000e0041"),
    "an unassigned character": ("\u0378", r"\u0378"),
}
SEEN = "Größe 大きさ حجم × –"
HOSTILE = "".join(each for each, _ in UNSEEN.values())
LONG = "x" * (1 << 20)
HEADER = '{"fencepost":1,"target":"t","fenced":true,"policy":"strict"}'


@pytest.mark.parametrize(("text", "escaped"), UNSEEN.values(), ids=UNSEEN.keys())
def test_a_character_that_nobody_sees_is_escaped(text: str, escaped: str) -> None:
    assert printable.printable(f"a{text}b{SEEN}") == f"a{escaped}b{SEEN}"


def test_a_long_value_is_cut_and_its_length_said() -> None:
    assert printable.shorten(LONG) == "x" * 200 + "… (1,048,576 characters)"
    assert printable.quoted(LONG) == f"'{'x' * 200}'… (1,048,576 characters)"
    assert printable.shorten("x" * 200) == "x" * 200


def test_a_message_keeps_its_lines_and_has_an_end() -> None:
    assert printable.message("one", "\x1btwo") == "one\n\\x1btwo"
    assert printable.message(*["x"] * 601).splitlines()[-1] == "… and 101 more lines"


def test_a_long_name_is_shortened_wherever_a_sentence_has_it() -> None:
    sentence = printable.naming(f"read from {LONG}, and {LONG} is no", LONG, None)

    assert sentence.count("… (1,048,576 characters)") == 2
    assert len(sentence) < 1_000


@given(st.text() | st.dictionaries(st.text(), st.text()))
def test_json_has_no_character_that_acts_and_means_the_same(document: dict[str, str] | str) -> None:
    written = printable.as_json(document)

    assert json.loads(written) == document
    assert printable.printable(written) == written


@given(st.text())
def test_safe_text_is_left_alone(text: str) -> None:
    once = printable.printable(text)

    assert printable.printable(once) == once


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_edn_has_no_character_that_acts_and_means_the_same(text: str) -> None:
    written = atoms.quoted(text)

    assert atoms.string(written) == text
    assert printable.printable(written) == written


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_toml_has_no_character_that_acts_and_means_the_same(text: str) -> None:
    import tomllib

    written = dumps({"value": text}).rstrip("\n")

    assert tomllib.loads(written) == {"value": text}
    assert printable.printable(written) == written


def test_what_is_recorded_has_no_character_that_acts(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "events.jsonl")

    recorder.record({"value": HOSTILE.replace("\ud800", "")})

    line = (tmp_path / "events.jsonl").read_text().rstrip("\n")
    assert printable.printable(line) == line
    assert json.loads(line)["value"] == HOSTILE.replace("\ud800", "")


def test_an_error_escapes_and_cuts_what_it_quotes() -> None:
    said = str(HistoryError(f"{HOSTILE}.jsonl", 1, f"{HOSTILE} {LONG}"))

    assert printable.printable(said) == said
    assert len(said) < 6_000


def test_a_problem_of_a_target_cuts_names_and_values() -> None:
    problem = str(Problem(("x" * 5_000,), "unknown key", {"x" * 5_000: "y" * 5_000}))

    assert problem.count("(5,000 characters)") == 1
    assert "(5,002 characters)" in problem
    assert len(problem) < 300


def test_a_line_of_the_console_escapes_what_it_quotes() -> None:
    out = io.StringIO()

    PlainConsole(out).write([StyledLine(f"wrote {HOSTILE}")])

    assert printable.printable(out.getvalue(), keep="\n") == out.getvalue()
    assert out.getvalue().count("\n") == 1


def test_a_line_of_progress_escapes_what_it_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)

    with progress(out) as stage:
        stage(f"reading \x1b]0;owned\x07{LONG}")

    assert r"reading \x1b]0;owned\x07" in out.getvalue()
    assert len(out.getvalue()) < 1_000


@pytest.mark.parametrize("error", [ValueError, FencepostError, click.UsageError, OSError])
def test_whatever_ends_a_command_escapes_what_it_quotes(
    error: type[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_arguments: Any) -> None:
        raise error(f"this is \x1b[31mred\x9b {LONG}")

    monkeypatch.setattr("harness.cli.app._invoke", fail)

    with pytest.raises(SystemExit):
        app.main([])

    said = capsys.readouterr().err
    assert printable.printable(said, keep="\n") == said
    assert r"red\x9b" in said
    assert len(said) < 10_000


def stale(resource: str, value: str) -> list[str]:
    return [
        HEADER,
        *(
            json.dumps({"time": time, "process": process, "type": kind, "f": "write"} | fields)
            for time, process, kind, fields in [
                (1, 0, "invoke", {"resource": resource, "token": 2, "value": "new"}),
                (2, 0, "ok", {"resource": resource, "token": 2, "value": "new"}),
                (3, 1, "invoke", {"resource": resource, "token": 1, "value": value}),
                (4, 1, "ok", {"resource": resource, "token": 1, "value": value}),
            ]
        ),
    ]


@pytest.mark.parametrize("hostile", [HOSTILE.replace("\ud800", ""), "x" * 500_000])
def test_a_finding_escapes_and_cuts_values_and_names(hostile: str) -> None:
    verdict = judge(parse([f"{line}\n" for line in stale(hostile, f"v{hostile}")]))

    assert [finding.anomaly for finding in verdict.findings] == ["stale-write"]
    for sentence in (verdict.findings[0].summary, *verdict.findings[0].steps):
        assert printable.printable(sentence) == sentence
        assert len(sentence) < 1_500


COMMANDS = {
    "a command of GitHub": ("::error::x", r"\x3a:error::x"),
    "a command after blanks": ("  ::error::x", r"  \x3a:error::x"),
    "an old command of GitHub": ("x ##[error]x", r"x #\x23[error]x"),
    "a command of Azure Pipelines": ("##vso[task.complete]x", r"#\x23vso[task.complete]x"),
    "what follows other signs": ("###[group]", r"##\x23[group]"),
    "no command": ("a::b :: ## c[0] C##", "a::b :: ## c[0] C##"),
}


@pytest.mark.parametrize(("text", "shown"), COMMANDS.values(), ids=COMMANDS)
def test_a_line_is_no_command_to_a_ci_server(text: str, shown: str) -> None:
    assert printable.line(text) == shown
    assert printable.line(shown) == shown


def test_json_is_no_command_to_a_ci_server_and_means_the_same() -> None:
    written = printable.as_json({"##[error]x": "##vso[task]\x9b"})

    assert "##[" not in written
    assert "##vso[" not in written
    assert json.loads(written) == {"##[error]x": "##vso[task]\x9b"}


def test_of_a_long_text_only_the_beginning_is_searched_and_shown() -> None:
    text = "password=hunter2 " + "x password=" * 2_000_000

    assert printable.line(text).startswith("password=*** x ")
    assert printable.line(text).endswith(f"… ({len(text):,} characters)")
    assert len(printable.line(text)) < printable.LONGEST_LINE + 50
    assert "hunter2" not in printable.line("://" + "u" * printable.LONGEST_LINE + ":hunter2@" + text)


def test_a_newline_in_a_line_begins_no_other() -> None:
    assert printable.message("a\nb", "c\r\n::d") == "a\\nb\nc\\r\\n::d"


def test_an_error_is_its_lines() -> None:
    error = FencepostError("a\nb", "::c")

    assert error.lines == (r"a\nb", "::c")
    assert str(error) == "a\\nb\n\\x3a:c"


def test_a_quoted_text_passes_for_no_line_of_ours() -> None:
    assert printable.quotation("one\n::two\r\n\nthree") == ("  | one", "  | ::two", "  |", "  | three")


def test_a_traceback_is_quoted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_arguments: Any) -> None:
        raise ValueError("a\n::error::FORGED")

    monkeypatch.setattr("harness.cli.app._invoke", fail)

    with pytest.raises(SystemExit):
        app.main([])

    *quoted, last = capsys.readouterr().err.splitlines()
    assert all(line.startswith("  |") for line in quoted)
    assert last == "this is a bug in Fencepost: please report it with the lines above"


def test_rich_markup_in_a_value_is_inert(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen.on(out)

    screen.write([StyledLine("[red]a[/red] [link=https://x]b[/link] :tada: \x1b]8;;x\x07")])

    assert r"[red]a[/red] [link=https://x]b[/link] :tada: \x1b]8;;x\x07" in " ".join(out.getvalue().split())
    assert "\x1b]8" not in out.getvalue()
