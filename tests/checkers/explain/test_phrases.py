"""What findings say is true of this very run: of its storage, its faults, and how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from checkers.history.reader import parse
from checkers.models.budget import Budget
from checkers.models.judge import judge_foreign
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding, Validity
from tests.support.literal_histories import judged
from tests.support.repository import HISTORIES


def reported(name: str, anomaly: str | None = None) -> Finding:
    (finding,) = (each for each in judged(name).findings if anomaly in {None, each.anomaly})
    return finding


def finding_of(lines: list[dict[str, Any]], **header: Any) -> Finding:
    first = {"fencepost": 1, "target": "t", "require": {"stale_writes_attempted": 0}, **header}
    history = parse([json.dumps(line) + "\n" for line in (first, *lines)])
    return judge(history).findings[0]


def test_a_storage_without_a_fence_is_not_argued_by_one() -> None:
    steps = reported("stale-write/unfenced").steps

    assert steps[:2] == (
        (
            "By the storage's own order, the write of '1-1' came before the write of '0-1': there,"
            " '1-1' is number 1 and '0-1' is number 2."
        ),
        (
            "By token order, the write of '0-1' must come before the write of '1-1': token 33 belongs to an"
            " earlier holder than token 34. This storage does not compare tokens, so it accepted '0-1'"
            " at 0.900 s (line 5)."
        ),
    )


def test_a_write_that_took_effect_twice_is_explained_with_both_places() -> None:
    finding = reported("stale-write/repeated-late")

    assert finding.summary == (
        "the write of '0-1' with token 33 to r0 by process 0 took effect once more after the storage had"
        " accepted '1-1' with the newer token 34"
    )
    assert finding.steps[:2] == (
        (
            "Process 0 sent '0-1' once, at 0.000 s (line 2), and it took effect twice: in the storage's own"
            " order it is number 1 and number 3."
        ),
        ("Number 1 came before '1-1', in its turn; number 3 came after it: that one is stale."),
    )
    assert finding.steps[3].endswith("it was accepted once more, as number 3 in the storage's own order.")


def test_a_refused_write_that_took_effect_is_explained_with_its_answer() -> None:
    assert (
        reported("stale-write/ghost")
        .steps[1]
        .endswith(
            "it was accepted: it is number 2 in the storage's own order, although it had been refused"
            " as stale at 0.500 s (line 5)."
        )
    )


def test_a_failover_is_explained_as_one() -> None:
    assert "Then the storage failed over at 0.400 s (line 6)." in reported("lost-write/failover").steps


def test_a_kill_of_the_storage_is_explained_as_one() -> None:
    assert "Then the storage was killed at 0.400 s (line 6)." in reported("lost-write/committed").steps


def test_null_is_explained_as_nothing() -> None:
    assert "returned nothing with token 0" in reported("lost-write/back-to-the-start").steps[2]


WRITE: Mapping[str, Any] = {"f": "write", "resource": "r0"}


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        (1, "at 20 ns (line 3), and process 1 sent its write only later, at 30 ns (line 4)"),
        (1_000, "at 20.000 µs (line 3), and process 1 sent its write only later, at 30.000 µs (line 4)"),
        (
            1_000_000,
            "at 20.000 ms (line 3), and process 1 sent its write only later, at 30.000 ms (line 4)",
        ),
        (
            1_000_000_000,
            "at 20.000 s (line 3), and process 1 sent its write only later, at 30.000 s (line 4)",
        ),
    ],
)
def test_times_are_explained_in_a_unit_that_tells_them_apart(unit: int, says: str) -> None:
    finding = finding_of(
        [
            {"time": 0, "process": 0, "type": "invoke", "token": 34, "value": "a", **WRITE},
            {"time": 20 * unit, "process": 0, "type": "ok", "token": 34, "value": "a", **WRITE},
            {"time": 30 * unit, "process": 1, "type": "invoke", "token": 33, "value": "b", **WRITE},
            {"time": 40 * unit, "process": 1, "type": "ok", "token": 33, "value": "b", **WRITE},
        ]
    )

    assert says in finding.steps[0]


def test_a_lease_of_seconds_is_explained_in_seconds_in_a_short_run() -> None:
    grant = {"f": "acquire", "resource": "r0"}
    finding = finding_of(
        [
            {"time": 0, "process": 0, "type": "invoke", "owner": "a", **grant},
            {
                "time": 10,
                "process": 0,
                "type": "ok",
                "owner": "a",
                "token": 1,
                "ttl": 2_000_000_000,
                "attempt": 0,
                **grant,
            },
            {"time": 20, "process": 1, "type": "invoke", "owner": "b", **grant},
            {
                "time": 30,
                "process": 1,
                "type": "ok",
                "owner": "b",
                "token": 2,
                "ttl": 2_000_000_000,
                "attempt": 20,
                **grant,
            },
        ]
    )

    assert finding.summary == (
        "process 1 was granted the lock on r0 at 30 ns, while the lease of process 0 was promised until"
        " 2.000 s"
    )


def test_an_early_grant_just_before_a_release_shows_which_came_first() -> None:
    common = {"f": "acquire", "resource": "r0", "ttl": 2_000_000_000}
    release = {"f": "release", "resource": "r0", "owner": "a", "token": 1}

    finding = finding_of(
        [
            {"time": 0, "process": 0, "type": "invoke", "owner": "a", **common},
            {"time": 1_000_000, "process": 0, "type": "ok", "owner": "a", "token": 1, **common},
            {"time": 2_000_000, "process": 1, "type": "invoke", "owner": "b", **common},
            {"time": 1_173_105_000, "process": 1, "type": "ok", "owner": "b", "token": 2, **common},
            {"time": 1_173_391_000, "process": 0, "type": "invoke", **release},
            {"time": 1_180_000_000, "process": 0, "type": "ok", **release},
        ]
    )

    assert finding.summary == (
        "process 1 was granted the lock on r0 at 1.173105 s,"
        " while process 0 held it until its release at 1.173391 s"
    )


def steps_by(name: str, model: str) -> tuple[str, ...]:
    (finding,) = judge_foreign(HISTORIES / "foreign" / name, model).verdict.findings
    return finding.steps


def test_operations_in_progress_on_another_key_do_not_matter() -> None:
    assert steps_by("kv.lost.invalid.txt", "kv") == (
        ('Every answer on x before line 7 can be explained, and then the value is "a" or the value is "ab".'),
        "Nothing else was in progress on x when line 7 was written.",
        'Process 0 asked for a get (line 5) and got the answer: "b" (line 7).',
        "In none of these cases is this the answer.",
    )


def test_a_set_is_explained_as_the_file_has_it() -> None:
    assert steps_by("set.lost.invalid.edn", "set") == (
        "Every answer before line 4 can be explained, and then the set is #{1}.",
        "Nothing else was in progress when line 4 was written.",
        "Process 2 asked for a read (line 3) and got the answer: an empty list (line 4).",
        "But then this cannot be the answer.",
    )


def test_the_initial_value_is_not_explained_as_a_second_value() -> None:
    assert steps_by("register.lines.invalid.json", "register")[-1].endswith(
        "So the initial value was seen after another value had replaced it."
    )


def test_the_only_lock_of_a_history_needs_no_name() -> None:
    found = judge_foreign(HISTORIES / "foreign" / "fenced-mutex.duplicate-token.edn", "fenced-mutex")

    assert found.verdict.findings[0].summary == (
        "process 1 and process 0 were both granted the lock with token 17"
    )


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(steps=0, steps_per_operation=0), "there are too many possible cases ({})"),
        (Budget(bytes=0), "the possible cases ({}) need too much memory"),
    ],
    ids=["steps", "bytes"],
)
def test_a_search_that_gave_up_says_at_which_answer_and_what_to_do(budget: Budget, why: str) -> None:
    verdict = judge_foreign(HISTORIES / "foreign" / "kv.valid.txt", "kv", budget).verdict

    cases = "what the object may hold, and which of the operations in progress have happened"
    assert verdict.validity is Validity.UNKNOWN
    assert verdict.reasons[0] == (
        f"the search gave up on x: {why.format(cases)}, and so far none of them explains the answer to"
        " process 0 at line 3; it costs less to judge a history with fewer operations in progress at the"
        " same time, or without an answer"
    )


def test_a_model_without_tokens_says_that_it_ignores_them() -> None:
    path = HISTORIES / "stale-write/with-its-reads.jsonl"

    (notice,) = judge_foreign(path, "register").notices

    assert notice == (
        f"{path}: a register has no tokens, so those of this history are ignored; without --model"
        " they are judged"
    )
