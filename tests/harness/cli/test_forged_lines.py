"""What strangers wrote begins no line and commands no CI server, nor does what a program says."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers.text.printable import printable
from harness.cli import main
from harness.core.exit_codes import ExitCode
from tests.support.command import fencepost
from tests.support.junit_readers import validated
from tests.support.recorded_runs import Unpack
from tests.support.repository import HISTORIES, ROOT

FORGED = "r\n::error::FORGED\n  ::warning::FORGED\r\nFORGED\x85##[error]x\x9b\u202e\u200b\x1b]0;x\x07"
HISTORY = HISTORIES / "stale-write/unfenced.jsonl"


def changed(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    """Change a document of a run folder, as a stranger would."""
    document = json.loads((folder / name).read_bytes())
    change(document)
    (folder / name).write_text(json.dumps(document))


def renamed(history: str, **header: Any) -> str:
    """A history with another header."""
    first, _, rest = history.partition("\n")
    return json.dumps(json.loads(first) | header) + "\n" + rest


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run a command whose input is hostile, and return what it printed, once that is proven inert."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: Any, shown: bool = True) -> str:
        with pytest.raises(SystemExit):
            main([str(each) for each in arguments])
        said = "".join(capfd.readouterr())
        assert printable(said, keep="\n") == said
        assert not [line for line in said.split("\n") if line.lstrip().startswith(("::", "FORGED"))]
        assert ("FORGED" in said) is shown
        return said

    return run


@pytest.mark.parametrize("field", ["target", "resource"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_recorded_name_begins_no_line(printed: Any, tmp_path: Path, field: str, form: str) -> None:
    text = HISTORY.read_text()
    hostile = json.dumps(FORGED)
    file = tmp_path / "history.jsonl"
    file.write_text(renamed(text, target=FORGED) if field == "target" else text.replace('"r0"', hostile))

    assert r"\n" in printed("recheck", "--verbose", file, "--format", form)


def test_a_resource_and_an_error_in_notices_begin_no_line(printed: Any, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    call = {"process": 0, "f": "acquire", "resource": FORGED, "owner": "a"}
    fence = {"process": 1, "f": "fence", "resource": FORGED, "token": 1}
    lines = [
        {"fencepost": 1, "target": "t", "fenced": True, "policy": "strict"},
        {"time": 1, "type": "invoke"} | call,
        {"time": 2, "type": "fail", "error": FORGED} | call,
        {"time": 3, "type": "invoke"} | fence,
        {"time": 4, "type": "ok"} | fence,
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    said = printed("recheck", file)

    assert r"the most frequent reason, 1 of 1: r\n::error::FORGED" in said
    assert " was fenced without a write" in said


def test_a_file_name_in_a_notice_begins_no_line(printed: Any, tmp_path: Path) -> None:
    file = tmp_path / FORGED.replace("/", "")
    file.write_text(HISTORY.read_text() + '{"time": 2, "pro')

    assert "half" in printed("recheck", file)


def test_the_place_of_a_run_begins_no_line(printed: Any, recorded_run: Unpack) -> None:
    run = recorded_run("etcd-postgres")
    changed(run, "environment.json", lambda found: found.update(folder=FORGED, again=[FORGED]))

    printed("recheck", run, shown=False)  # no command is printed with such words


def test_a_plan_begins_no_line(printed: Any, recorded_run: Unpack) -> None:
    run = recorded_run("etcd-postgres")

    def change(plan: dict[str, Any]) -> None:
        plan["windows"] = [{"fault": FORGED, "possible": {}, "missed": {FORGED: 1}}]
        plan["missed"] = {FORGED: 1}

    changed(run, "plan.json", change)
    changed(run, "header.json", lambda found: found.update(target=FORGED))
    (run / "history.jsonl").write_text(renamed((run / "history.jsonl").read_text(), target=FORGED))

    printed("recheck", run)


def test_a_junit_file_has_the_lines_of_its_author_alone(printed: Any, recorded_run: Unpack) -> None:
    run = recorded_run("etcd-postgres-unfenced")
    (run / "history.jsonl").write_text(
        renamed((run / "history.jsonl").read_text(), target=FORGED + "\ufffe", expect=["lost-write"])
    )

    printed("recheck", run)

    text = (run / "junit.xml").read_text()
    ((case,),) = validated(text)
    assert printable(text, keep="\n") == text
    assert "&#10;" not in text
    assert not [line for line in case.result[0].text.split("\n") if line.lstrip().startswith(("::", "FORG"))]


@pytest.mark.parametrize(
    "arguments",
    [
        ("recheck", FORGED),
        ("recheck", HISTORY, "--model", FORGED),
        ("recheck", HISTORY, "--commits", FORGED),
        ("import", HISTORY, "--model", FORGED),
        ("import", FORGED, "--model", "register"),
        ("export", HISTORY, "--to", FORGED),
        ("export", FORGED, "--to", "jepsen-edn"),
        ("show", FORGED),
        ("show", "x", "--runs", FORGED),
        ("shrink", FORGED),
        ("run", FORGED),
        ("run", "etcd-postgres", "--set", FORGED),
        ("run", "etcd-postgres", "--set", f"name={FORGED}"),
        ("run", "etcd-postgres", "--seed", FORGED),
        ("run", "etcd-postgres", "--hazard", FORGED),
        ("validate", FORGED),
        ("validate", "etcd-postgres", "--set", f"lock.{FORGED}=1"),
        ("zoo", FORGED),
        ("corpus", "add", FORGED),
        ("corpus", "check", FORGED),
        ("campaign", FORGED),
        ("campaign", FORGED, "--shard", FORGED),
        ("campaign", "merge", FORGED),
        ("campaign", "seeds", "--history", FORGED),
        ("card", f"'{FORGED}", "--lock", "redis"),
        ("check-client", f"'{FORGED}", "--lock", "redis"),
        ("schema", FORGED),
        (FORGED,),
        ("recheck", f"--{FORGED}"),
        ("targets", FORGED),
    ],
    ids=lambda words: " ".join(str(word) for word in words if word is not HISTORY).partition("\n")[0],
)
def test_a_word_of_the_command_line_begins_no_line(printed: Any, arguments: tuple[object, ...]) -> None:
    printed(*arguments)


def test_a_file_name_in_a_target_error_begins_no_line(printed: Any, tmp_path: Path) -> None:
    file = tmp_path / f"{FORGED}.toml"
    file.write_text('[lock]\nkind = "\\n::error::FORGED"\n"a\\nFORGED" = 1\n')

    printed("validate", file)


def test_the_choices_of_an_argument_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", str(HISTORY)])

    assert "Choose from: jepsen-edn, porcupine-etcd" in capsys.readouterr().err


def test_show_prints_a_path_to_see(printed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    folder = tmp_path / FORGED.replace("/", "")
    folder.mkdir()
    (folder / "report.html").write_text("x")

    printed("show", folder)


@pytest.mark.parametrize("command", [("import", "--model", "register"), ("export", "--to", "jepsen-edn")])
def test_a_converted_history_on_stdout_is_inert(printed: Any, tmp_path: Path, command: Any) -> None:
    first, *options = command
    events = [
        {"process": 0, "type": kind, "f": "write", "value": FORGED, "time": time, "index": time}
        for time, kind in enumerate(["invoke", "ok"])
    ]
    file = tmp_path / "jepsen.json"
    file.write_text(json.dumps(events))

    printed(first, file, *options, "--output", "-")


def test_a_character_of_edn_on_stdout_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "jepsen.edn"
    file.write_text("{:process 0, :type :invoke, :f :write, :value \\\u202e, :index 0, :time 0}\n")

    with pytest.raises(SystemExit):
        main(["export", str(file), "--to", "jepsen-edn", "--output", "-"])

    assert r":value \u202e" in capsys.readouterr().out


PROGRAM = ROOT / "tests/support/line_program.py"
SAID = (
    "r\n::error::FORGED\n  FORGED\r\x85##[error]x\x9b31m\u202e\u200b\x1b]0;x\x07"
    "[x](http://evil.example) <img src=x> @someone ` | #1 FORGED"
)
AT_START = {
    "its error output": ("def main() -> None:\n", f"def main() -> None:\n    sys.exit({SAID!r})\n"),
    "why it does not start": (
        'outcome="ok", versions={"sqlite": sqlite3.sqlite_version}',
        f'outcome="failed", reason={SAID!r}',
    ),
}
VERSIONS = ('{"sqlite": sqlite3.sqlite_version}', f"{{{SAID!r}: {SAID!r}}}")
ANSWERS = (
    VERSIONS,
    ('event="sent"', f"event={SAID!r}"),
    ('"value": value, "token": token}', f'"value": {SAID!r}, "token": {SAID!r}}}'),
    ('{"outcome": "ok" if done.rowcount else "failed"}', f'{{"outcome": "failed", "reason": {SAID!r}}}'),
    ('"ttl_ms": self.ttl, "attempt_ns"', f'"ttl_ms": self.ttl, {SAID!r}: {SAID!r}, "attempt_ns"'),
)


def forging(folder: Path, *replacements: tuple[str, str]) -> str:
    """Write a program that forges, and return its command."""
    source = PROGRAM.read_text()
    for old, new in replacements:
        assert old in source
        source = source.replace(old, new)
    (folder / "program.py").write_text(source)
    return shlex.join([sys.executable, str(folder / "program.py"), str(folder / "file.db")])


def assert_inert(text: str) -> None:
    assert "FORGED" in text
    assert printable(text, keep="\n") == text
    assert not [line for line in text.split("\n") if line.lstrip().startswith(("::", "FORGED", "##"))]


@pytest.mark.slow
@pytest.mark.parametrize("replacements", [*([each] for each in AT_START.values()), ANSWERS])
def test_check_client_shows_words_as_text(tmp_path: Path, replacements: tuple[tuple[str, str], ...]) -> None:
    options = ("--engine=local", "--set=lock.ttl=1s", "--fencing=compare")

    done = fencepost(tmp_path, "check-client", *options, forging(tmp_path, *replacements))

    assert_inert(done.stdout + done.stderr)


CALM = ("--lock=client", "--storage=sqlite", "--no-token", "--only=calm", "--duration=2s", "--name=mine")


@pytest.mark.slow
@pytest.mark.parametrize("replacement", AT_START.values())
def test_a_program_that_ends_a_card_is_shown_as_text(tmp_path: Path, replacement: tuple[str, str]) -> None:
    done = fencepost(tmp_path, "card", "--engine=local", *CALM, forging(tmp_path, replacement))

    assert done.returncode == ExitCode.INFRASTRUCTURE, done.stdout + done.stderr
    assert_inert(done.stdout + done.stderr)
    assert not [*tmp_path.glob("cards/mine/2*/card.md")]


@pytest.mark.slow
def test_a_card_shows_what_a_program_says_as_text(tmp_path: Path) -> None:
    done = fencepost(tmp_path, "card", "--engine=local", "--format=json", *CALM, forging(tmp_path, VERSIONS))

    (card,) = tmp_path.glob("cards/mine/2*/card.md")
    assert_inert(done.stdout + done.stderr)
    assert_inert(card.read_text())
    assert_inert(card.with_suffix(".json").read_text())
    live = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", card.read_text())
    assert not [each for each in ("evil", "<img", "@someone", "#1") if each in live]
