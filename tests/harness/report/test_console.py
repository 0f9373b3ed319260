import io
import os
import pty
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers import ANOMALIES, FaultEvent, Header, History, Op, Outcome, judge, parse
from harness.core.errors import ConfigurationError, EngineUnavailableError, HistoryError
from harness.core.events import FaultObserved, Notice, Progress, RunJudged, RunStarted, StageReached
from harness.core.exit_codes import ExitCode, of_error, of_several, of_verdict
from harness.report.causes import Opening, Openings
from harness.report.console import console
from harness.report.verdict_text import JudgedRun, Line, Tone, summary, verdict_lines

SECOND = 1_000_000_000
FOLDER = Path("runs/etcd-postgres/20260101T000000-abc123")

STALE = {
    "anomaly": "stale-write",
    "resource": "r0",
    "summary": "client 1 overwrote r0 with token 33 after token 34 had been written",
    "operations": [2, 5, 7, 9],
    "steps": ["token 33 was granted to client 1", "token 34 was written", "token 33 was accepted after it"],
}


def document(
    verdict: str = "valid",
    *,
    expected: list[str] | str = "valid",
    as_expected: bool = True,
    reasons: list[str] | tuple[()] = (),
    findings: list[Any] | tuple[()] = (),
    **coverage: Any,
) -> dict[str, Any]:
    anomalies = {"stale-write": 0, "late-write": 4, "early-grant": 0}
    for finding in findings:
        anomalies[finding["anomaly"]] += 1
    return {
        "schema": 1,
        "verdict": verdict,
        "expected": expected,
        "as_expected": as_expected,
        "reasons": list(reasons),
        "anomalies": anomalies,
        "findings": list(findings),
        "coverage": {"grants": 1084} | coverage,
        "checkers": [],
    }


def told(judged: dict[str, Any], **run: Any) -> list[str]:
    return [
        " " * line.indent + line.text for line in verdict_lines(JudgedRun(target="t", document=judged, **run))
    ]


def progress(seconds: float, faults: tuple[str, ...] = ()) -> Any:
    return Progress(
        elapsed=int(seconds * SECOND),
        duration=30 * SECOND,
        operations=int(seconds * 100),
        writes_accepted=int(seconds * 20),
        writes_failed=3,
        faults=faults,
    )


STARTED = RunStarted(target="etcd-postgres", engine="local", folder=FOLDER, seed=7, duration=30 * SECOND)
OBSERVED = FaultObserved(
    kind="pause", target="client:3", state="in force", evidence="status is stopped", elapsed=3 * SECOND
)


class TestTelling:
    def test_a_fenced_run_says_how_many_stale_writes_were_turned_away(self) -> None:
        judged = document(stale_writes_attempted=17, stale_writes_rejected=17, stale_writes_accepted=0)

        lines = told(judged, folder=FOLDER, report=FOLDER / "report.html", seed=7)

        assert lines == [
            "t: The fence held: 17 of 17 stale writes refused",
            "  Verdict: valid, as this target expects",
            (
                "  Why it matters: A client that lost its lock cannot overwrite its successor's data, at least"
                " under the faults of this run."
            ),
            (
                "  What to do: Nothing to fix. A run is a test, not a proof: repeat it with other seeds and"
                " faults."
            ),
            "  also seen, not violations: late-write ×4",
            "  grants 1,084 · stale writes attempted 17 · stale writes rejected 17",
            f"  run folder   {FOLDER}",
            f"  report       {FOLDER}/report.html",
            f"  check again  fencepost recheck {FOLDER}",
            f"  look         fencepost show {FOLDER}",
            f"  run again    fencepost run {FOLDER}/target.toml --seed 7",
        ]

    def test_a_run_is_repeated_with_the_options_that_it_was_given(self) -> None:
        judged = document(stale_writes_attempted=1, stale_writes_rejected=1)

        lines = told(judged, folder=FOLDER, seed=7, options=("--engine", "local", "--no-faults"))

        again = f"fencepost run {FOLDER}/target.toml --seed 7 --engine local --no-faults"
        assert lines[-1] == f"  run again    {again}"

    def test_an_expected_stale_write_is_told_with_its_proof_and_its_fault(self) -> None:
        judged = document(
            "invalid",
            expected=["stale-write"],
            findings=[STALE, STALE],
            stale_writes_attempted=2,
            stale_writes_accepted=2,
        )

        lines = told(judged, history=paused_history())

        assert lines == [
            "t: The test worked: it found what the target expects: the storage accepted 2 stale writes",
            "  Verdict: invalid, as this target expects; stale-write ×2",
            "  0 of 2 stale writes refused, 2 accepted",
            f"  Why it matters: {ANOMALIES['stale-write'].matters}",
            f"  What to do: {ANOMALIES['stale-write'].remedy}",
            "",
            "  Client 1 overwrote r0 with token 33 after token 34 had been written",
            "    stale-write: A write with an older token took effect after a write with a newer one had.",
            "    1. token 33 was granted to client 1",
            "    2. token 34 was written",
            "    3. token 33 was accepted after it",
            "    Cause: client 1 was paused 0.500–4.000 s (status is stopped)",
            "    1 more finding of this kind in the report",
            "",
            "  line numbers are those of the history",
            "  also seen, not violations: late-write ×4",
            "  grants 1,084 · stale writes attempted 2 · stale writes accepted 2",
        ]

    def test_what_was_not_expected_is_a_violation_and_comes_first(self) -> None:
        early = {
            "anomaly": "early-grant",
            "resource": "r0",
            "summary": "EARLY",
            "operations": [],
            "steps": [],
        }
        judged = document(
            "invalid",
            expected=["stale-write"],
            as_expected=False,
            reasons=["found early-grant, which was not expected"],
            findings=[STALE, early],
        )

        lines = told(judged)

        assert lines[0] == (
            "t: BUG FOUND: the lock was given away while another's lease was still promised"
            " (also stale-write ×1)"
        )
        assert lines.index("  EARLY") < lines.index(
            "  Client 1 overwrote r0 with token 33 after token 34 had been written"
        )

    def test_an_anomaly_that_had_to_be_found_and_was_not_is_named(self) -> None:
        judged = document(
            "valid",
            expected=["stale-write"],
            as_expected=False,
            reasons=["expected stale-write was not found"],
        )

        assert told(judged)[0] == "t: Not found: this target has to show stale-write, and this run did not"

    def test_an_expected_anomaly_that_is_nobodys_fault_is_said_to_be_found(self) -> None:
        judged = document(expected=["late-write"], stale_writes_attempted=1, stale_writes_rejected=1)

        assert told(judged)[0] == (
            "t: The test worked: it found what the target expects:"
            " superseded holders wrote 4 times before their successors did"
        )

    def test_a_run_that_was_not_asked_for_stale_writes_says_so(self) -> None:
        judged = document(stale_writes_attempted=0)

        lines = told(judged)

        assert lines[0] == "t: Nothing wrong was found: the lock was granted 1,084 times"
        assert "No stale write was attempted and none was asked for" in lines[2]

    def test_what_was_found_is_not_denied_by_what_was_attempted(self) -> None:
        judged = document("invalid", expected=["stale-write"], findings=[STALE], stale_writes_attempted=0)

        assert not any("were not asked for" in line for line in told(judged))

    def test_a_run_that_challenged_nothing_is_no_pass(self) -> None:
        judged = document(
            "unknown",
            as_expected=False,
            reasons=["not exercised: no stale write was attempted: run longer, or with faults"],
        )

        assert told(judged)[:4] == [
            "t: Not tested: no stale write was attempted",
            "  Verdict: unknown; not exercised: no stale write was attempted: run longer, or with faults",
            "  Why it matters: That is no pass: a storage without any fence would have looked just the same.",
            "  What to do: Run longer, or with faults, such as a pause of the holder before its write.",
        ]

    def test_an_interrupted_run_says_so(self) -> None:
        cut = document() | {"interrupted": {"seconds": 5.012, "planned": 20.0}}

        lines = list(verdict_lines(JudgedRun(target="t", document=cut)))
        assert lines[0].text.startswith("t: Interrupted at 5 of 20 s: until then nothing wrong was found")
        assert lines[0].tone is Tone.PLAIN
        assert lines[1].text == "Verdict: valid, as this target expects"
        assert told(document(), interrupted=True)[1].endswith("; interrupted: judged as far as it got")

    def test_an_interrupted_run_with_a_violation_says_both(self) -> None:
        found = document("invalid", as_expected=False, findings=[STALE])

        lines = told(found | {"interrupted": {"seconds": 5.012, "planned": 20.0}})

        assert lines[0] == "t: BUG FOUND: the storage accepted a stale write"
        assert lines[1].endswith("; interrupted at 5 of 20 s")

    def test_a_finding_begins_with_a_capital_but_never_alters_a_name(self) -> None:
        named = STALE | {"resource": "r0", "summary": "r0 was lost"}
        judged = document("invalid", as_expected=False, findings=[STALE])

        assert "  Client 1 overwrote r0 with token 33 after token 34 had been written" in told(judged)
        assert "  r0 was lost" in told(document("invalid", as_expected=False, findings=[named]))

    def test_no_line_names_a_file_of_a_checkout(self) -> None:
        judged = document("invalid", as_expected=False, findings=[STALE])

        assert not any("docs/" in line for line in told(judged))

    def test_unknown_outcomes_are_part_of_the_sum(self) -> None:
        judged = document(stale_writes_attempted=4, stale_writes_rejected=3, stale_writes_accepted=0)

        assert told(judged)[0] == "t: The fence held: 3 of 4 stale writes refused, 0 accepted, 1 unknown"

    def test_a_lost_update_that_is_only_counted_is_told_with_its_story(self) -> None:
        lost = STALE | {"anomaly": "lost-update", "summary": "LOST", "steps": ["so it was"]}
        judged = document(stale_writes_attempted=2, stale_writes_rejected=2) | {"counted": [lost]}
        judged["anomalies"] |= {"lost-update": 14}

        lines = told(judged)

        assert lines[0] == "t: The fence held: 2 of 2 stale writes refused; but 14 updates were lost"
        assert "  LOST" in lines
        assert "    1. so it was" in lines
        assert "    13 more findings of this kind in the report" in lines

    def test_findings_of_one_cause_are_one_entry(self) -> None:
        follows = {"caused_by": {"anomaly": "lost-write", "summary": "!", "operations": []}}
        findings = [STALE] * 119 + [STALE | follows] * 3
        judged = document("invalid", as_expected=False, findings=findings)

        lines = told(judged)

        assert lines.count("    118 more findings of this kind in the report") == 1
        assert lines.count("    2 more findings of this kind in the report") == 1

    def test_an_exhibit_says_that_its_bug_was_planted_and_names_its_twin(self) -> None:
        judged = document("invalid", expected=["stale-write"], findings=[STALE])

        lines = [line.text for line in verdict_lines(JudgedRun(target="check-then-write", document=judged))]

        assert lines[0].startswith("check-then-write: The test worked: it found the planted bug: ")
        assert lines[3].endswith(" Done right: check-then-write-twin.")

    def test_several_runs_end_in_a_line_each(self) -> None:
        runs = [
            JudgedRun(
                target="etcd-postgres-unfenced",
                document=document("invalid", expected=["stale-write"], findings=[STALE]),
            ),
            JudgedRun(
                target="etcd-postgres",
                document=document(stale_writes_attempted=1, stale_writes_rejected=1),
            ),
        ]

        assert [line.text for line in summary(runs, [*(run.target for run in runs), "failed"])] == [
            (
                "etcd-postgres-unfenced  invalid  as expected      "
                "The test worked: it found the planted bug: the storage accepted a stale write"
            ),
            ("etcd-postgres           valid    as expected      The fence held: 1 of 1 stale write refused"),
            "failed                  no verdict",
        ]


def paused_history() -> History:
    def op(
        index: int, process: int, f: str, called: int, token: int, lines: tuple[int, int], **rest: Any
    ) -> Op:
        return Op(
            index=index,
            process=process,
            f=f,
            resource="r0",
            called=called,
            returned=called + 1,
            outcome=Outcome.OK,
            token=token,
            lines=lines,
            **rest,
        )

    def fault(time: Any, state: Any, owner: Any) -> FaultEvent:
        evidence = "status is stopped" if state == "in force" else "status is sleeping"
        return FaultEvent(
            time=time, kind="pause", target=f"client:{owner[0]}", state=state, evidence=evidence, owner=owner
        )

    return History(
        header=Header(target="t"),
        started=SECOND,
        operations=(
            op(0, 1, "acquire", SECOND, 33, (2, 3), owner="1-1"),
            op(1, 2, "acquire", 3 * SECOND, 34, (4, 5), owner="2-1"),
            op(2, 2, "write", 4 * SECOND, 34, (6, 7)),
            op(3, 1, "write", 5 * SECOND, 33, (8, 9)),
        ),
        faults=(
            fault(SECOND + SECOND // 2, "in force", "1-1"),
            fault(2 * SECOND, "in force", "2-1"),
            fault(5 * SECOND, "healed", "1-1"),
        ),
    )


def opened(finding: dict[str, Sequence[object]], history: History) -> Opening | str | None:
    opening = Openings(history).of(finding)
    return opening and f"{opening.title}: {opening.in_words(history.started)}"


def test_the_fault_behind_it_hit_the_hold_with_the_lowest_token() -> None:
    assert opened(STALE, paused_history()) == ("Cause: client 1 was paused 0.500–4.000 s (status is stopped)")


def test_a_finding_that_no_fault_explains_names_none() -> None:
    assert opened(STALE | {"operations": [6, 7]}, paused_history()).startswith("Probable cause: client 2 was")
    assert opened(STALE | {"operations": []}, paused_history()) is None


def test_a_fault_that_came_afterwards_opened_no_window() -> None:
    assert opened(STALE | {"operations": [2, 3]}, paused_history()) is None


def test_of_several_faults_during_a_single_operation_the_first_was_enough() -> None:
    def cut(time: Any, state: Any) -> FaultEvent:
        return FaultEvent(
            time=time, kind="partition", target="client:1", state=state, evidence="cut off", owner="1-1"
        )

    history = paused_history()
    write = replace(history.operations[3], called=6 * SECOND, returned=10 * SECOND)
    faults = [cut(7 * SECOND, "in force"), cut(8 * SECOND, "healed"), cut(9 * SECOND, "in force")]
    history = replace(history, operations=(*history.operations[:3], write), faults=(*history.faults, *faults))

    assert opened(STALE | {"operations": [8, 9]}, history) == (
        "Probable cause: client 1 was cut off 6.000–7.000 s (cut off)"
    )


def test_what_a_service_did_wrong_is_laid_to_the_last_fault_on_its_servers() -> None:
    def kill(time: Any, state: Any, target: Any) -> FaultEvent:
        return FaultEvent(time=time * SECOND, kind="kill", target=target, state=state, evidence="exited")

    history = paused_history()
    faults = [
        kill(2, "in force", "lock:redis-1"),
        kill(3, "in force", "storage"),
        kill(4, "healed", "lock:redis-1"),
    ]
    history = replace(history, faults=(*history.faults, *faults))
    regression = STALE | {"anomaly": "token-regression", "operations": [2, 3, 4, 5]}

    assert opened(regression, history) == (
        "Probable cause: the lock service (redis-1) was down 1.000–3.000 s (exited)"
    )
    assert opened(STALE | {"operations": [2, 3, 4, 5]}, history).startswith(
        "Probable cause: the storage was down"
    )
    assert opened(regression | {"operations": [2, 3]}, history) is None


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
            "  10 s of 30 s: 1,000 operations, writes 200 accepted, 3 failed",
            "  20 s of 30 s: 2,000 operations, writes 400 accepted, 3 failed",
            "  30 s of 30 s: 3,000 operations, writes 600 accepted, 3 failed",
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
            "  12 s of 30 s: 1,200 operations, writes 240 accepted, 3 failed; in force: pause client:3, partition client:2",
        ]

    def test_a_second_run_counts_its_seconds_anew(self) -> None:
        lines = self.lines(STARTED, progress(25), STARTED, progress(10))

        assert [line for line in lines if "operations" in line][-1].startswith("  10 s of 30 s")

    def test_nothing_is_printed_where_the_stream_was_closed(self) -> None:
        with console(None) as screen:
            screen.show(STARTED)
            screen.write([Line("unseen")])


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
            document=document(),
            history=HISTORY,
            report=FOLDER / "report.html",
        )
    )
    screen.write([Line("all is well and this sentence is long enough to wrap", Tone.GOOD, 2)])
    screen.write([Line(""), Line(f"report       {FOLDER}/report.html", Tone.COMMAND, 2)])


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
        assert "in force: pause client:3, partition cli…" in picture
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


class TestExitCodes:
    @pytest.mark.parametrize(
        ("verdict", "as_expected", "interrupted", "code"),
        [
            ("valid", True, False, ExitCode.AS_EXPECTED),
            ("invalid", True, False, ExitCode.AS_EXPECTED),
            ("invalid", False, False, ExitCode.VIOLATION),
            ("valid", False, False, ExitCode.VIOLATION),
            ("unknown", False, False, ExitCode.UNKNOWN),
            ("valid", True, True, ExitCode.INTERRUPTED),
            ("unknown", False, True, ExitCode.INTERRUPTED),
            ("valid", False, True, ExitCode.INTERRUPTED),
            ("invalid", False, True, ExitCode.VIOLATION),
        ],
    )
    def test_a_verdict_has_its_code(
        self, verdict: str, as_expected: bool, interrupted: bool, code: ExitCode
    ) -> None:
        assert of_verdict(document(verdict, as_expected=as_expected), interrupted=interrupted) is code

    def test_a_violation_outranks_everything(self) -> None:
        everything = set(ExitCode) - {ExitCode.NOTHING_SELECTED, ExitCode.BROKEN_PIPE}

        assert of_several(everything) is ExitCode.VIOLATION
        assert of_several(everything - {ExitCode.VIOLATION}) is ExitCode.INTERRUPTED
        assert of_several([ExitCode.UNKNOWN, ExitCode.INFRASTRUCTURE]) is ExitCode.INFRASTRUCTURE
        assert of_several([ExitCode.AS_EXPECTED, ExitCode.UNKNOWN]) is ExitCode.UNKNOWN
        assert of_several([]) is ExitCode.NOTHING_SELECTED

    def test_an_error_is_the_settings_or_the_servers(self) -> None:
        assert of_error(ConfigurationError("x")) is ExitCode.CONFIGURATION
        assert of_error(HistoryError("f", 1, "x")) is ExitCode.CONFIGURATION
        assert of_error(EngineUnavailableError("x")) is ExitCode.INFRASTRUCTURE
        assert of_error(KeyboardInterrupt()) is ExitCode.INTERRUPTED
