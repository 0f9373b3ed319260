"""The answers of a card, each from literal runs, and the card as Markdown and as JSON."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from checkers.history.records import Op
from checkers.verdict.notices import TOKENS_LOOK_LIKE
from harness.card.answers import AnsweredQuestion, answers, is_answered
from harness.card.outputs import JSON, MARKDOWN, Card, result, write
from harness.card.releases import LostRelease
from harness.card.seen import Seen
from harness.card.series import Experiment, Kind, Subject
from harness.cli.make_card import exit_code
from harness.core.exit_codes import ExitCode

SUBJECT = Subject(
    name="mine",
    command="mine",
    lock="redis",
    storage="postgres",
    fencing="conditional-update",
    duration="10s",
)


def run(kind: Kind, at: str = "", *, fenced: bool = False, **shown: Any) -> Seen:
    experiment = Experiment(kind=kind, at=at, fenced=fenced)
    return Seen(experiment=experiment, folder=Path(experiment.name), **({"verdict": "valid"} | shown))


def answer(key: str, *seen: Seen) -> AnsweredQuestion:
    return next(each for each in answers(SUBJECT, seen) if each.key == key)


TOKENS = {"grants_with_token": 9}


calm, restarted = partial(run, "calm"), partial(run, "restart")
paused, stopped = partial(run, "pause", "acquired"), partial(run, "pause", "granted")
fenced = partial(paused, fenced=True)


ANSWERS = {
    "lost_while_paused": [
        (
            [paused(coverage={"stale_writes_accepted": 3, "pauses": 4})],
            "yes",
            "3 stale writes got through without a fence",
        ),
        ([paused(coverage={"pauses": 4})], "no", "nobody else was granted it in 4 pauses"),
        ([paused()], "not shown", "no holder was paused"),
        ([paused(failure="no room")], "not shown", "no room"),
    ],
    "tells_its_holder": [
        ([calm()], "not shown", "no holder that had lost it released it"),
        ([calm(releases_refused=2)], "yes", "all 2 releases of a lost lock were refused"),
        ([calm(releases_refused=2, releases_accepted=1)], "no", "1 of 3 releases of a lost lock ended ok"),
        (
            [calm(releases_refused=2), stopped(releases_accepted=1, anomalies={"early-grant": 1})],
            "yes",
            "all 2 releases of a lost lock were refused",
        ),
        (
            [calm(releases_refused=2, anomalies={"duplicate-token": 9})],
            "yes",
            "all 2 releases of a lost lock were refused",
        ),
        (
            [stopped(releases_accepted=1, anomalies={"early-grant": 1})],
            "not shown",
            "after early grants, it is open which holder had lost it",
        ),
    ],
    "token": [
        ([calm(**TOKENS)], "yes", "in 9 of 9 grants"),
        ([calm(grants_without_token=9)], "none", "in none of 9 grants"),
        ([calm()], "not shown", "it was never granted"),
        (
            [calm(**TOKENS, looks_like=f"{TOKENS_LOOK_LIKE}the wall clock, which a fence cannot")],
            "yes",
            "in 9 of 9 grants, but the tokens look like the wall clock",
        ),
    ],
    "strictly_rising": [
        ([calm(**TOKENS)], "yes", "in 9 grants"),
        ([calm(grants_without_token=9)], "not shown", "no token was given"),
        ([calm(**TOKENS, anomalies={"early-grant": 9})], "yes", "in 9 grants"),
        ([calm(**TOKENS, anomalies={"token-regression": 2, "stale-write": 1})], "no", "token-regression ×2"),
        (
            [run("pause", "all", fenced=True, **TOKENS, anomalies={"token-regression": 2})],
            "not shown",
            "no such run was made",
        ),
    ],
    "atomic_with_grant": [
        ([stopped(**TOKENS)], "not shown", "the program reports no moment between the grant and its token"),
        ([stopped(**TOKENS, coverage={"pauses": 1})], "yes", "in 9 grants"),
        ([stopped(coverage={"pauses": 1}, anomalies={"early-grant": 1})], "no", "early-grant ×1"),
    ],
    "hands_over_in_order": [
        (
            [run("stop", given_back=(5_000_000, 7_000_001))],
            "yes",
            "2 stopped holders gave the lock back; it was granted again within 8 ms",
        ),
        (
            [run("stop", given_back=(5_000_000, None)), run("stop", kept_back=2)],
            "no",
            "2 of 4 stopped holders did not give the lock back",
        ),
        (
            [run("stop", given_back=(5_000_000, None), in_vain=1)],
            "no",
            "1 of 2 released locks of stopped holders stayed taken until the lease ended, while another client waited",
        ),
        ([run("stop", kept_back=1, anomalies={"early-grant": 1})], "no", "early-grant ×1"),
        (
            [run("stop", given_back=(5,), anomalies={"duplicate-token": 9})],
            "yes",
            "1 stopped holder gave the lock back; it was granted again within 1 ms",
        ),
        (
            [run("stop")],
            "not shown",
            "no lock of a stopped holder was granted again before its lease ended",
        ),
        ([calm(given_back=(1,))], "not shown", "no such run was made"),
    ],
    "survives_restart": [
        ([restarted(**TOKENS)], "not shown", "no lock that was held then was released afterwards with ok"),
        ([restarted(kept=4, anomalies={"early-grant": 1})], "no", "early-grant ×1"),
        ([restarted(kept=2, gone=1)], "no", "of 3 locks held then, 1 could not be released"),
        ([restarted(kept=2), run("pause", releases_refused=1)], "yes", "2 locks still held afterwards"),
        ([restarted(kept=2)], "not shown", "no lost lock was released, so a release with ok proves nothing"),
        (
            [restarted(kept=2), calm(releases_refused=1, releases_accepted=1)],
            "not shown",
            "the release of a lost lock ends ok, too",
        ),
        (
            [
                restarted(kept=2, releases_refused=1),
                run("pause", releases_accepted=1, anomalies={"early-grant": 1}),
            ],
            "yes",
            "2 locks still held afterwards",
        ),
        ([run("pause", releases_accepted=1)], "not shown", "no such run was made"),
    ],
    "survives_failover": [
        ([calm()], "not shown", "no such run was made"),
        (
            [run("failover", coverage={"failovers": 1}, anomalies={"duplicate-token": 70})],
            "no",
            "duplicate-token ×70",
        ),
    ],
    "safe_with_fence": [
        ([paused()], "not shown", "no such run was made"),
        (
            [fenced(coverage={"stale_writes_rejected": 4})],
            "yes",
            "conditional-update on postgres refused all 4 stale writes, as far as its token is drawn with the grant",
        ),
        (
            [
                fenced(coverage={"stale_writes_rejected": 4}),
                stopped(coverage={"pauses": 4}, grants_with_token=9),
            ],
            "yes",
            "conditional-update on postgres refused all 4 stale writes",
        ),
        ([fenced()], "not shown", "conditional-update on postgres met no stale write"),
        ([fenced(anomalies={"stale-write": 1})], "no", "conditional-update on postgres: stale-write ×1"),
    ],
}


@pytest.mark.parametrize(
    ("key", "seen", "word", "said"), [(each, *row) for each, rows in ANSWERS.items() for row in rows]
)
def test_each_answer_follows_from_its_runs(key: str, seen: list[Seen], word: str, said: str) -> None:
    found = answer(key, *seen)

    assert (found.word, found.said) == (word, said)


@pytest.mark.parametrize(
    ("key", "lacks", "said"),
    [
        ("survives_failover", {"lock": "etcd"}, "the lock service has no failover here"),
        ("safe_with_fence", {"gives_token": False}, "without a token no storage can refuse a stale write"),
    ],
)
def test_a_lock_without_failover_or_token_has_no_such_runs(key: str, lacks: Any, said: str) -> None:
    found = {each.key: each for each in answers(replace(SUBJECT, **lacks), [run("calm")])}

    assert (found[key].word, found[key].said) == ("none", said)


def test_a_release_of_a_lost_lock_that_ended_ok_is_shown_with_its_lines() -> None:
    grant, later, release = (
        Op(index=0, process=0, f=f, resource="r0", owner=owner, called=0, lines=lines)
        for f, owner, lines in (
            ("acquire", "0-1", (2, 3)),
            ("acquire", "1-1", (5, 8)),
            ("release", "0-1", (9, 10)),
        )
    )
    shown = LostRelease(grant, later, release)
    runs = [run("calm", releases_refused=1), run("pause", releases_accepted=1, accepted=shown)]

    assert answer("tells_its_holder", *runs).said == (
        "1 of 2 releases of a lost lock ended ok, such as in pause-unfenced: 0-1 was granted r0 (line 3),"
        " then 1-1 was (line 8), and the release of 0-1 ended ok (line 10)"
    )


def test_releases_of_expired_locks_are_counted_but_prove_no_loss() -> None:
    expired = run("pause", "before-write", expired_accepted=3, expired_refused=1)

    assert answer("tells_its_holder").said == "no such run was made"
    assert answer("tells_its_holder", expired).word == "not shown"
    found = answer("tells_its_holder", expired, run("calm", releases_refused=2))
    assert (found.word, found.said) == (
        "yes",
        "all 2 releases of a lost lock were refused; 3 of 4 of an expired one that nobody else took ended ok",
    )


def test_only_pauses_until_another_client_wrote_show_a_loss() -> None:
    free = replace(run("pause", "before-write").experiment, until="freed")
    runs = [Seen(experiment=free, coverage={"pauses": 4})]

    assert answer("lost_while_paused", *runs).said == "no such run was made"


def test_a_question_is_answered_once_its_runs_show_anything() -> None:
    lost = run("pause", releases_refused=1)

    assert not is_answered("survives_restart", SUBJECT, [lost, run("restart")])
    assert is_answered("survives_restart", SUBJECT, [lost, run("restart"), run("restart", kept=1)])
    assert is_answered("survives_restart", SUBJECT, [run("restart", anomalies={"duplicate-token": 1})])


def test_a_cell_names_the_runs_that_it_rests_on() -> None:
    calm, paused = run("calm", **TOKENS), run("pause", "acquired", coverage={"pauses": 1})

    assert answer("token", calm, paused).runs == (Path("calm"),)
    assert answer("lost_while_paused", calm, paused).runs == (Path("pause-acquired-unfenced"),)


def written(folder: Path) -> Card:
    calm = folder / "runs/mine-calm/1"
    card = Card(
        subject=SUBJECT,
        engine="local",
        began="2026-11-23 16:00 UTC",
        answers=[AnsweredQuestion(key="token", question="token?", word="yes", said="a|b", runs=(calm,))],
        seen=[
            Seen(experiment=Experiment(kind="calm"), folder=calm, verdict="valid"),
            Seen(experiment=Experiment(kind="restart"), failure="redis-1 did not start"),
        ],
    )
    write(card, folder)
    return card


def test_a_run_names_a_moment_that_the_program_never_reports() -> None:
    untested = ("not tested: no pause was observed from beginning to end: run longer, or with faults",)

    unreported = stopped(verdict="unknown", reasons=untested, **TOKENS)
    others = [stopped(verdict="unknown", reasons=untested), paused(verdict="unknown", reasons=untested)]

    said = "unknown: not tested: the program reports no moment between the grant and its token"
    assert result(unreported) == said
    assert {result(each) for each in others} == {f"unknown: {untested[0]}"}


def test_the_row_links_to_the_runs_behind_each_cell(tmp_path: Path) -> None:
    written(tmp_path)

    lines = (tmp_path / MARKDOWN).read_text().splitlines()
    assert lines[0] == "| lock | token? |"
    assert lines[2] == r"| mine | ✓ **yes**: `a\x7cb` [1](runs/mine-calm/1/report.html) |"
    assert "- [calm](runs/mine-calm/1/report.html): valid" in lines
    assert "- restart: no verdict: `redis-1` did not start" in lines


def test_the_document_has_the_same_as_data(tmp_path: Path) -> None:
    written(tmp_path)

    document = json.loads((tmp_path / JSON).read_text())
    assert document["schema"] == 1
    assert document["answers"]["token"] == {
        "question": "token?",
        "answer": "yes",
        "polarity": "good",
        "said": "a|b",
        "runs": ["runs/mine-calm/1"],
    }
    assert [run["failure"] for run in document["runs"]] == [None, "redis-1 did not start"]


def test_a_name_cannot_break_the_table(tmp_path: Path) -> None:
    card = written(tmp_path)

    write(replace(card, subject=replace(SUBJECT, name="a|b\n| c")), tmp_path)

    assert (tmp_path / MARKDOWN).read_text().splitlines()[2].startswith(r"| `a\x7cb\n\x7c` c |")


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        ([{"grants_with_token": 1}, {}], ExitCode.AS_EXPECTED),
        ([{"grants_without_token": 1}, {"failure": "no room"}], ExitCode.INFRASTRUCTURE),
        ([{}, {}], ExitCode.UNKNOWN),
    ],
)
def test_a_lock_that_was_never_granted_was_not_tested(shown: list[dict[str, Any]], code: ExitCode) -> None:
    assert exit_code([Seen(experiment=Experiment(kind="calm"), **each) for each in shown]) is code
