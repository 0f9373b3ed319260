"""What a run says in a few words, whatever became of it; without a counted fault it is not green."""

from dataclasses import replace
from typing import Any

import pytest

from checkers.history.records import Header, History, Op, Outcome
from checkers.vocabulary.anomalies import ANOMALIES, VIOLATIONS
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.reasons import (
    NO_FAULTS,
    NO_GRANT,
    NO_RETURN,
    NO_TOKEN,
    RUN_LONGER,
    Reason,
    ReasonKind,
)
from harness.report.answer import answer
from harness.report.counters import counters
from harness.report.effort import why_findings_differ
from harness.report.headline import Tone
from harness.run.recheck import NO_PLAN, UNREAD_ORDER
from tests.support.lock_requests import fault
from tests.support.repository import ROOT
from tests.support.verdicts import verdict_of

HELD = {"stale_writes_attempted": 13, "stale_writes_rejected": 13, "stale_writes_accepted": 0, "grants": 50}


def verdict(word: str = "valid", **fields: object) -> VerdictDocument:
    return verdict_of({"verdict": word, "as_expected": word == "valid", "coverage": HELD, **fields})


def found(name: str, number: int = 1) -> dict[str, object]:
    return {"findings": [{"anomaly": name}] * number, "anomalies": {name: number}}


@pytest.mark.parametrize("name", sorted(VIOLATIONS))
def test_every_violation_has_words_a_reason_and_a_remedy(name: str) -> None:
    said = answer(verdict("invalid", **found(name, 3)), "mine")

    assert said.headline.startswith("BUG: ")
    assert said.tone is Tone.BAD
    assert "3" in said.happened
    assert said.matters == ANOMALIES[name].matters
    assert said.remedy == ANOMALIES[name].remedy
    assert said.documentation == f"docs/anomalies.md#{name}"
    assert len(counters(said, verdict("invalid", **found(name, 3)), ())) > 0


CRASH = Reason(ReasonKind.CRASHED, "x", "E: y")
NOT_FOUND = Reason(ReasonKind.NOT_FOUND, "lost-write")
NOT_EXERCISED = Reason(ReasonKind.NOT_EXERCISED, "no stale write was attempted", "run longer")
CONTRADICTION = Reason(ReasonKind.CONTRADICTION, "r0: clients saw a, the log has b")
LOST = {"expected": ["lost-write"], "as_expected": False}
INTERRUPTED = {"interrupted": {"seconds": 6.112, "planned": 20.0}}


@pytest.mark.parametrize(
    ("document", "headline", "tone"),
    [
        (
            verdict(**LOST, reasons=[NOT_FOUND]),
            "Planted bug not found: this target expects lost-write, but this run did not find it",
            Tone.BAD,
        ),
        (verdict("unknown", reasons=[CRASH]), "Undecided: the checker x crashed: E: y", Tone.UNSURE),
        (
            verdict("unknown", reasons=[CRASH, NOT_EXERCISED]),
            "Undecided: the checker x crashed: E: y; no stale write was attempted",
            Tone.UNSURE,
        ),
        (
            verdict(as_expected=False, reasons=[CONTRADICTION]),
            "Contradiction: r0: clients saw a, the log has b",
            Tone.BAD,
        ),
        (
            verdict(**INTERRUPTED),
            "Interrupted at 6.1 of 20 s: until then the fence held, 13 of 13 stale writes refused",
            Tone.NEUTRAL,
        ),
        (
            verdict(**INTERRUPTED, coverage={"grants": 50}),
            "Interrupted at 6.1 of 20 s: until then nothing wrong was found, the lock was granted 50 times",
            Tone.NEUTRAL,
        ),
        (
            verdict(**INTERRUPTED, **LOST),
            "Interrupted at 6.1 of 20 s: until then the run had not found lost-write, which this target expects",
            Tone.NEUTRAL,
        ),
    ],
)
def test_the_headline_says_how_the_run_ended(document: VerdictDocument, headline: str, tone: Tone) -> None:
    said = answer(document, "asynchronous-commit")

    assert (said.headline, said.tone) == (headline, tone)


def test_an_interrupted_run_has_no_verdict_on_the_whole() -> None:
    said = answer(verdict(**INTERRUPTED), "mine")

    assert said.verdict == "Verdict: valid so far; unknown for the whole run, which was cut short"
    assert said.interrupted == "interrupted at 6.1 of 20 s"


CUT = Reason(ReasonKind.CUT_SHORT, ", and the storage's own order has 3 writes of which it knows nothing")


def test_each_reason_for_an_undecided_run_has_its_own_remedy() -> None:
    crashed, cut, both = (
        answer(verdict("unknown", reasons=reasons), "mine").remedy
        for reasons in ([CRASH], [CUT], [CRASH, CUT])
    )

    assert crashed == "A checker that crashes is a bug in Fencepost: report it, with the run's folder."
    assert cut == "Run it again: what is missing from the history cannot be recovered."
    assert both == f"{crashed} {cut}"


@pytest.mark.parametrize(
    ("reason", "headline", "remedy"),
    [
        (UNREAD_ORDER, f"Undecided: {UNREAD_ORDER}", "Run it again, to its end"),
        (NO_PLAN, f"Undecided: {NO_PLAN}", "Restore plan.json"),
        (
            NO_TOKEN,
            f"Not tested: {NO_TOKEN.arguments[0]}",
            "Use a lock that gives one, or set storage.fencing and lock.token",
        ),
        (NO_GRANT, f"Not tested: {NO_GRANT.arguments[0]}", "Read why in the note on this run"),
        (
            NO_RETURN,
            f"Not tested: {NO_RETURN.arguments[0]}",
            "Let acquire end by itself, with a grant or an error",
        ),
    ],
)
def test_a_run_that_shows_nothing_has_its_reasons_remedy(reason: Any, headline: str, remedy: str) -> None:
    said = answer(verdict("unknown", reasons=[reason]), "mine")

    assert said.headline == headline
    assert said.remedy.startswith(remedy)


def test_the_counters_are_chosen_by_the_anomaly() -> None:
    document = verdict("invalid", **found("duplicate-token", 232), coverage={"grants": 237, "kills": 1})

    numbers = {each.name: each.number for each in counters(answer(document, "mine"), document, ())}

    assert numbers == {"Duplicate token": 232, "Grants": 237, "Server faults": 1}


@pytest.mark.parametrize(
    ("document", "remedy"),
    [
        (
            verdict(
                "unknown",
                reasons=[Reason(ReasonKind.NOT_EXERCISED, "no stale write was attempted", NO_FAULTS)],
            ),
            "Leave out --no-faults to test the fence.",
        ),
        (
            verdict(
                expected=["lost-write"],
                as_expected=False,
                reasons=[Reason(ReasonKind.NOT_FOUND, "lost-write")],
            ),
            "Leave out --no-faults: the bug may need the faults of this target.",
        ),
        (verdict(), "Nothing to fix. A run is a test, not a proof: repeat it with other seeds."),
    ],
)
def test_a_run_without_faults_is_not_advised_to_have_some(document: VerdictDocument, remedy: str) -> None:
    history = History(header=Header(target="mine", no_faults=True), operations=())

    assert answer(document, "mine", history).remedy == remedy
    assert "faults" in answer(document, "mine").remedy
    assert "--no-faults" not in answer(document, "mine").remedy


def test_what_the_history_shows_is_advised_in_place_of_a_longer_run() -> None:
    special = "check the unit in which the lease is set"
    reasons = [Reason(ReasonKind.NOT_EXERCISED, "no stale write was attempted", special)]

    assert answer(verdict("unknown", reasons=reasons), "mine").remedy == f"{special.capitalize()}."


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        (("write", "read"), "one order of the operations explains every answer"),
        (("acquire", "write"), "the lock was granted 0 times"),
    ],
)
def test_the_headline_is_about_a_lock_only_if_there_is_one(operations: tuple[str, ...], said: str) -> None:
    ops = tuple(
        Op(index=place, process=0, f=f, resource="r", called=place, outcome=Outcome.INFO)
        for place, f in enumerate(operations)
    )
    history = History(header=Header(target="mine"), operations=ops)

    headline = answer(verdict(coverage={"grants": 0}), "mine", history).headline

    assert headline == f"Nothing wrong was found: {said}"


def test_of_a_run_that_was_not_tested_the_zero_is_shown() -> None:
    reasons = [Reason(ReasonKind.NOT_EXERCISED, "no stale write was attempted", "run longer, or with faults")]
    document = verdict("unknown", reasons=reasons, coverage={"grants": 5, "stale_writes_attempted": 0})

    names = [each.name for each in counters(answer(document, "mine"), document, ())]

    assert names == ["Stale writes attempted", "Grants"]


@pytest.mark.parametrize(("token", "said"), [(7, "newer token"), (None, "of a later hold")])
def test_stale_writes_are_counted_by_tokens_only_if_there_are_some(token: int | None, said: str) -> None:
    grant = Op(
        index=0, process=0, f="acquire", resource="r", called=1, returned=2, outcome=Outcome.OK, token=token
    )
    document = verdict("valid", coverage={"grants": 5, "stale_writes_attempted": 2})

    first, *_ = counters(answer(document, "mine"), document, (grant,))

    assert (first.name, first.what.startswith("writes that came after a write")) == (
        "Stale writes attempted",
        True,
    )
    assert said in first.what


def test_every_anomaly_is_documented_where_its_answer_points() -> None:
    page = (ROOT / "docs" / "anomalies.md").read_text().splitlines()

    assert [name for name in ANOMALIES if f"### {name}" not in page] == []


@pytest.mark.parametrize(
    ("name", "explained"),
    [
        ("stale-write", ("a write is stale if", "a token is a number")),
        ("duplicate-token", ("a token is a number",)),
        ("lost-write", ()),
    ],
)
def test_the_terms_that_the_first_lines_use_are_explained(name: str, explained: tuple[str, ...]) -> None:
    terms = answer(verdict("invalid", **found(name)), "mine").terms

    assert all(words in terms for words in explained)
    assert bool(terms) is bool(explained)


def test_without_tokens_a_stale_write_is_explained_by_the_later_holder() -> None:
    by_time = {"findings": [{"anomaly": "stale-write", "rule": "after-later-hold"}]}

    terms = answer(verdict("invalid", anomalies={"stale-write": 1}, **by_time), "mine").terms

    assert terms == "a write is stale if a later holder of the lock has already written"


@pytest.mark.parametrize(
    ("accepted", "stale", "lost", "says"),
    [
        (3, 2, 1, " (a stale write that was lost in the end is found as lost-write)"),
        (1, 3, 5, " (not counting those that only a lost write made stale)"),
        (2, 2, 1, ""),
        (3, 2, 0, ""),
    ],
)
def test_counts_that_differ_from_findings_say_why(accepted: int, stale: int, lost: int, says: str) -> None:
    document = verdict(
        "invalid",
        coverage=HELD | {"stale_writes_accepted": accepted},
        anomalies={"stale-write": stale, "lost-write": lost},
    )

    assert why_findings_differ(document) == says


def valid(**fields: object) -> VerdictDocument:
    return verdict_of({"verdict": "valid", "as_expected": True, "coverage": HELD, **fields})


COULD_HIT = {"hit": {}, "missed": ["granted/superseded/holder"], "possible": 1}


def test_a_valid_run_without_a_counted_fault_does_not_look_green() -> None:
    header = Header(target="mine", ttl=1_000_000)
    granted = Op(index=0, process=0, f="acquire", resource="r", called=0, returned=1, outcome=Outcome.OK)
    history = History(header=header, operations=(granted,))

    said = answer(valid(hazards=COULD_HIT), "mine", history)

    assert said.headline == (
        "No fault was counted: the fence held, 13 of 13 stale writes refused, 0 of 1 dangerous moments tried"
    )
    assert said.tone is Tone.NEUTRAL
    assert said.verdict == "Verdict: valid, as this target expects"
    assert said.matters.endswith("the run says nothing about the faults of this target.")
    assert said.remedy == "The lease of 1 ms is over before any fault begins: set lock.ttl to 100 ms or more."
    assert answer(valid(hazards=COULD_HIT), "mine").remedy.startswith("Run longer, or with other faults;")


@pytest.mark.parametrize(
    "fields", [{"hazards": COULD_HIT, "coverage": HELD | {"pauses": 1}}, {"hazards": {"hit": {}}}, {}]
)
def test_a_run_with_a_counted_fault_or_without_any_stays_green(fields: dict[str, object]) -> None:
    said = answer(valid(**fields), "mine")

    assert (said.label, said.tone) == ("The fence held", Tone.GOOD)


def test_a_run_that_had_faults_is_not_told_to_have_some() -> None:
    reasons = [Reason(ReasonKind.NOT_EXERCISED, "8 of 20 dangerous moments tried", RUN_LONGER)]
    document = verdict_of({"verdict": "unknown", "as_expected": False, "coverage": HELD, "reasons": reasons})
    had = History(header=Header(target="mine"), operations=(), faults=tuple(fault("client:0", 1, 2)))
    without = replace(had, faults=())

    assert answer(document, "mine", had).remedy.startswith("Run longer: set workload.duration")
    assert answer(document, "mine", without).remedy.startswith("Run longer, or with faults")
