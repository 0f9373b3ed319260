"""What a search and a campaign show while their runs go on: plain lines, or a picture on a terminal."""

import io
import json
import re
from typing import Any

import pytest

from checkers.vocabulary.document import VerdictDocument
from harness.campaign.campaign import CampaignProgress
from harness.campaign.campaign_file import Quarantine
from harness.cli.campaign_screen import CampaignScreen, live
from harness.cli.search_run import SearchProgress
from harness.core.events import Notice, Progress
from harness.report.console import PlainConsole
from harness.report.first_finding import fingerprint
from harness.search.search import Tried
from tests.support.campaign_runs import TODAY, finished, job, verdict

SECOND = 1_000_000_000
RUNNING = (job("a", expected=30), job("b", reproduction=2, expected=40))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress(done: int = 3, left: int = 9, waiting: int = 8) -> CampaignProgress:
    running = RUNNING if waiting else ()
    return CampaignProgress(
        running=running, waiting=waiting, done=done, left=left, failed=1, expected=100 * SECOND
    )


def test_each_run_is_a_line_with_the_time_that_is_left() -> None:
    out = io.StringIO()
    screen = CampaignScreen(out, documents=False, clock=lambda: 0)

    screen.show(progress(done=4, left=8))
    screen.show(finished(job("a")))
    screen.show(progress(done=5, left=7))
    screen.show(finished(job("b"), 1, verdict("Client 0 wrote '\x1b[31m' too late")))

    assert out.getvalue().splitlines() == [
        "4/12, 1:40 to go  a, run 1: passed in 25 s",
        "5/12, 1:40 to go  b, run 1: failed in 25 s: stale-write: Client 0 wrote '\\x1b[31m' too late",
    ]


def test_a_repetition_is_not_counted_as_a_run() -> None:
    out = io.StringIO()
    screen = CampaignScreen(out, documents=False, clock=lambda: 0)
    screen.show(progress())

    screen.show(finished(job("a", reproduction=1)))

    assert out.getvalue() == "3/12, 1:40 to go  a, run 1, again 1: passed in 25 s\n"


@pytest.mark.parametrize(
    ("left", "waiting", "seconds", "said"),
    [
        (2, 1, 30, "10/12, 1:10 to go"),
        (2, 1, 130, "10/12, longer than expected"),
        (0, 3, 30, "12/12, repeating failures, 1:10 to go"),
        (0, 3, 130, "12/12, repeating failures, longer than expected"),
        (0, 0, 130, "12/12, 0:00 to go"),
        (2, 0, 130, "10/12, 0:00 to go"),
    ],
)
def test_no_time_is_left_when_nothing_is_to_be_made(left: int, waiting: int, seconds: int, said: str) -> None:
    out, now = io.StringIO(), [0]
    screen = CampaignScreen(out, documents=False, clock=lambda: now[0])
    screen.show(progress(done=12 - left, left=left, waiting=waiting))
    now[0] = seconds * SECOND

    screen.show(finished(job("a", reproduction=1)))

    assert out.getvalue() == f"{said}  a, run 1, again 1: passed in 25 s\n"


def test_the_picture_has_runs_in_progress_and_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    out, now = Terminal(), [0]
    screen = CampaignScreen(out, documents=False, clock=lambda: now[0])
    screen.show(progress())
    screen.show(finished(job("c"), 1, verdict(f"Client 0 wrote '{'x' * 200}' too late")))
    now[0] = 12 * SECOND
    screen.show(progress(done=4))

    with live(screen):
        assert screen.live is not None
        screen.live.refresh()
        screen.write("a line that stays")

    shown = out.getvalue()
    assert "4 done, 9 left, 1 failed" in shown
    assert "1:40 to go" in shown
    assert re.search(r"a, run 1 +0:12 of about 0:30 +\n", shown)
    assert "b, run 1, again 2" in shown
    assert "×1 c: stale-write: Client 0 wrote 'xxx" in shown
    assert "xxx\u2026" in shown
    assert "a line that stays" in shown
    assert screen.live is None


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_no_terminal_shows_no_picture(stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = stream()
    screen = CampaignScreen(out, documents=False)
    screen.show(progress())

    with live(screen):
        assert screen.live is None

    assert out.getvalue() == ""


def test_every_run_that_ended_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    accused = verdict("Client 0 wrote 'x' too late")
    known = Quarantine(fingerprint=fingerprint("c", accused), reason="issue 7", until=TODAY)
    screen = CampaignScreen(io.StringIO(), documents=True, quarantine={known.fingerprint: known})

    screen.show(finished(job("a")))
    screen.show(finished(job("b"), 3, error="etcd-1 did not get healthy"))
    screen.show(finished(job("c", reproduction=2), 1, accused))

    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["cell"], each["reproduction"], each["outcome"]) for each in documents] == [
        ("a", 0, "passed"),
        ("b", 0, "infrastructure"),
        ("c", 2, "quarantined"),
    ]
    assert documents[1]["headline"] == "etcd-1 did not get healthy"
    assert documents[1]["verdict"] is None
    assert documents[2]["verdict"] == accused
    assert documents[2]["fingerprint"] == known.fingerprint


def test_names_and_findings_in_the_picture_are_inert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    out = Terminal()
    screen = CampaignScreen(out, documents=False, clock=lambda: 0)
    hostile = job("[red]a[/red]\n::error::x \x1b]8;;x\x07")
    screen.show(CampaignProgress(running=(hostile,), waiting=0, done=0, left=1, failed=0, expected=SECOND))
    screen.show(finished(hostile, 1, verdict("[link=https://x]b[/link]")))

    with live(screen):
        assert screen.live is not None
        screen.live.refresh()

    shown = out.getvalue()
    assert r"[red]a[/red]\n::error::x \x1b]8;;x\x07, run 1" in shown
    assert "[link=https://x]b[/link]" in shown
    assert "\x1b]8" not in shown


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def searching(clock: Clock) -> Any:
    return SearchProgress(PlainConsole(io.StringIO()), clock)


def lines(searching: Any) -> list[str]:
    text: str = searching.screen.out.getvalue()
    return text.splitlines()


def at(seconds: int) -> Progress:
    return Progress(
        elapsed=seconds * SECOND,
        duration=20 * SECOND,
        operations=5,
        writes_accepted=1,
        writes_refused=0,
        faults=(),
    )


def tried(number: int) -> Tried:
    return Tried(
        number=number,
        seed=7,
        changed=False,
        judged=VerdictDocument,  # its content is not printed
        closeness=(1, 2),
        best=(3, 4),
        new=5,
        left=None,
        seen="12 behaviors were seen",
        dried_up=False,
    )


def test_a_run_has_a_line_every_ten_seconds(searching: Any, clock: Clock) -> None:
    for second in range(1, 21):
        clock.now = 100.0 + second
        searching.show(at(second))

    assert lines(searching) == ["  run 1, 10 s: 10 s of 20 s", "  run 1, 20 s: 20 s of 20 s"]


def test_a_line_says_how_close_the_runs_came(searching: Any, clock: Clock) -> None:
    searching.finished(tried(2))
    clock.now += 12
    searching.show(at(11))

    assert lines(searching)[1] == (
        "  run 3, 12 s: 11 s of 20 s; closest so far: a superseded holder wrote (×4)"
    )


def test_a_finished_run_has_a_line_at_once(searching: Any, clock: Clock) -> None:
    searching.finished(tried(1))
    clock.now += 9
    searching.show(at(9))

    (line,) = lines(searching)
    assert line.startswith("run 1, 0 s, seed 7, its own plan: a pause outlived a lease (×2); closest so far")


def test_notices_are_always_shown(searching: Any) -> None:
    searching.show(Notice(text="an image is built"))

    assert lines(searching) == ["  note: an image is built"]
