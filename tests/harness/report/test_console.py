"""A run on the console: a live screen on a terminal, plain lines elsewhere."""

import io
import os
import pty
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from harness.core.errors import EngineUnavailableError
from harness.core.events import FaultObserved, Notice, Progress, RunJudged, RunStarted, StageReached
from harness.report.console import console
from harness.report.lines import LineTone, StyledLine
from tests.support.verdicts import verdict_of

SECOND = 1_000_000_000
FOLDER = Path("runs/etcd-postgres/20260101T000000-abc123")


def progress(seconds: float, faults: tuple[str, ...] = ()) -> Any:
    return Progress(
        elapsed=int(seconds * SECOND),
        duration=30 * SECOND,
        operations=int(seconds * 100),
        writes_accepted=int(seconds * 20),
        writes_refused=3,
        faults=faults,
    )


STARTED = RunStarted(target="etcd-postgres", engine="local", folder=FOLDER, seed=7, duration=30 * SECOND)
OBSERVED = FaultObserved(
    kind="pause", target="client:3", state="in force", evidence="status is stopped", elapsed=3 * SECOND
)


class TestPlain:
    def lines(self, *events: Any) -> list[str]:
        out = io.StringIO()
        with console(out) as screen:
            for event in events:
                screen.show(event)
        return out.getvalue().splitlines()

    def test_progress_is_one_line_every_ten_seconds(self) -> None:
        ticks = [progress(tenth / 10) for tenth in range(301)]

        lines = self.lines(STARTED, *ticks)

        assert lines == [
            f"etcd-postgres: engine local, seed 7, {FOLDER}",
            "  10 s of 30 s: 1,000 operations, writes 200 accepted, 3 refused",
            "  20 s of 30 s: 2,000 operations, writes 400 accepted, 3 refused",
            "  30 s of 30 s: 3,000 operations, writes 600 accepted, 3 refused",
        ]

    def test_stages_and_notices_get_a_line_and_single_faults_do_not(self) -> None:
        lines = self.lines(
            StageReached(stage="building", detail="etcd"),
            StageReached(stage="judging", detail=""),
            Notice(text="the last line was half written"),
            OBSERVED,
            progress(12, ("pause client:3", "partition client:2")),
        )

        assert lines == [
            "  building: etcd",
            "  judging",
            "  note: the last line was half written",
            "  12 s of 30 s: 1,200 operations, writes 240 accepted, 3 refused; client 3 is paused, client 2 is cut off",
        ]

    def test_a_second_run_counts_its_seconds_anew(self) -> None:
        lines = self.lines(STARTED, progress(25), STARTED, progress(10))

        assert [line for line in lines if "operations" in line][-1].startswith("  10 s of 30 s")

    def test_nothing_is_printed_where_the_stream_was_closed(self) -> None:
        with console(None) as screen:
            screen.show(STARTED)
            screen.write([StyledLine("unseen")])


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A pseudo-terminal 40 columns wide: its stream, and a function that reads what it showed."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")  # rich asks the standard streams for their size, not this one
    master, slave = pty.openpty()
    os.set_blocking(master, False)

    def shown() -> str:
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except BlockingIOError:
            pass
        return text.decode()

    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        yield stream, shown
    os.close(master)


HISTORY = parse(['{"fencepost":1,"target":"etcd-postgres","fenced":true,"policy":"strict","ttl":2000}'])
VERDICT = judge(HISTORY)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def whole_run(screen: Any) -> None:
    screen.show(STARTED)
    screen.show(StageReached(stage="running", detail="etcd ×3, postgres, toxiproxy and a long detail"))
    screen.show(progress(12, ("pause client:3", "partition client:2")))
    screen.show(OBSERVED)
    screen.live.refresh()
    screen.show(
        RunJudged(
            folder=FOLDER,
            verdict=VERDICT,
            document=verdict_of({}),
            history=HISTORY,
            report=FOLDER / "report.html",
        )
    )
    screen.write([StyledLine("all is well and this sentence is long enough to wrap", LineTone.GOOD, 2)])
    screen.write([StyledLine(""), StyledLine(f"report       {FOLDER}/report.html", LineTone.COMMAND, 2)])


class TestScreen:
    def test_the_picture_fits_a_narrow_terminal_and_is_taken_away(self, terminal: Any) -> None:
        stream, shown = terminal

        with console(stream) as screen:
            whole_run(screen)

        text = shown()
        plain = ESCAPES.sub("", text.replace("\x1b[1A", "\n")).replace("\r", "")
        picture = plain[: plain.index("all is well")]
        assert "etcd-postgres · local · seed 7" in picture
        assert "12 s of 30 s · 1,200 operations, writes…" in picture
        assert "client 3 is paused, client 2 is cut off\n" in picture
        assert max(len(line) for line in picture.split("\n")) <= 40
        assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is shown again

    def test_prose_wraps_with_its_indent_and_paths_stay_whole(self, terminal: Any) -> None:
        stream, shown = terminal

        with console(stream) as screen:
            whole_run(screen)

        plain = ESCAPES.sub("", shown()).replace("\r", "")
        assert "  all is well and this sentence is long\n  enough to wrap\n" in re.sub(" +\n", "\n", plain)
        assert f"  report       {FOLDER}/report.html\n" in plain
        assert "\n\n  report" in re.sub(" +\n", "\n", plain)

    def test_colour_can_be_turned_off(self, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        stream, shown = terminal
        monkeypatch.setenv("NO_COLOR", "1")

        with console(stream) as screen:
            whole_run(screen)

        assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown())

    def test_a_dumb_terminal_gets_plain_lines(self, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        stream, shown = terminal
        monkeypatch.setenv("TERM", "dumb")

        with console(stream) as screen:
            screen.show(STARTED)

        assert shown() == f"etcd-postgres: engine local, seed 7, {FOLDER}\r\n"

    def test_an_error_leaves_the_terminal_as_it_was(self, terminal: Any) -> None:
        stream, shown = terminal

        def fail() -> None:
            with console(stream) as screen:
                screen.show(STARTED)
                raise EngineUnavailableError("no engine")

        with pytest.raises(EngineUnavailableError):
            fail()

        text = shown()
        assert text.count("\x1b[?25l") == text.count("\x1b[?25h")
