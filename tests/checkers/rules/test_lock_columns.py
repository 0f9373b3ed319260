"""Lock services of long histories: narrowed to who is involved, the definitions say the same."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkers.facts import narrowing as holds
from checkers.facts.evidence import Evidence
from checkers.history.reader import parse
from checkers.rules.double_beliefs import double_beliefs
from checkers.rules.early_grants import early_grants
from checkers.rules.stuck_locks import stuck_locks
from checkers.rules.tokens import duplicate_tokens, token_regressions
from tests.support.in_columns import in_columns
from tests.support.selection import Cases

ROUNDS = int(os.environ.get("FENCEPOST_TEST_ROUNDS", "1"))
CHECKS = (duplicate_tokens, token_regressions, early_grants, double_beliefs, stuck_locks)


def lock_lines(rng: random.Random, operations: int = 14) -> Iterator[str]:
    """A few owners on two resources: any order, any outcome, tokens that mostly rise, equal times."""
    yield json.dumps({"fencepost": 1, "target": "t", "grace": 2}) + "\n"
    open_events: list[tuple[int, dict[str, object]]] = []
    time, token = 100, 50
    odds = rng.choice([[8, 2, 2, 1], [6, 6, 0, 0]])
    steps = rng.choice([[1], [1, 1, 1, 1, 0, -2]])
    fresh = rng.random() < 0.6  # an owner for each acquire, or six that acquire again
    for process in range(operations):
        time += rng.randint(0, 6)
        for ended, last in sorted(open_events, key=lambda each: each[0]):
            if ended <= time:
                yield json.dumps(last) + "\n"
        open_events = [each for each in open_events if each[0] > time]
        f = rng.choice(["acquire", "acquire", "acquire", "renew", "release", "revoke"])
        event: dict[str, object] = {
            "process": process,
            "f": f,
            "resource": rng.choice("ab"),
            "owner": f"o{rng.randint(0, 5)}",
        }
        if fresh:
            event["owner"] = f"o{process if f == 'acquire' else rng.randint(0, process)}"
        yield json.dumps({"time": time, "type": "invoke", **event}) + "\n"
        outcome = rng.choices(["ok", "fail", "info", None], odds)[0]
        if outcome is None:
            continue
        ended = time + rng.randint(0, 20)
        if outcome == "ok" and f in {"acquire", "renew"} and rng.random() < 0.8:
            event["ttl"] = rng.choice([1, 5, 20])
        if outcome == "ok" and f == "acquire":
            token += rng.choice(steps)
            event["token"] = token
            if rng.random() < 0.3:
                event["attempt"] = rng.randint(time, ended)
        open_events.append((ended, {"time": ended, "type": outcome, **event}))
    for _, event in sorted(open_events, key=lambda each: each[0]):
        yield json.dumps(event) + "\n"


def in_lines(*events: tuple[int, int, str, str, dict[str, object]], **header: object) -> list[str]:
    """The lines of a history: of each event the time, the process, the type, the operation and more."""
    lines = [json.dumps({"fencepost": 1, "target": "t", **header}) + "\n"]
    for time, process, kind, f, fields in sorted(events, key=lambda each: each[0]):
        event = {"time": time, "process": process, "type": kind, "f": f, "resource": "r0", **fields}
        lines.append(json.dumps(event) + "\n")
    return lines


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_definition_agrees_when_narrowed_to_the_relevant_rows(
    check: Callable[..., Any], cases: Cases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "FEW", 0)
    found = 0
    for seed in range(cases(400 * ROUNDS)):
        rng = random.Random(seed)
        lines = list(lock_lines(rng, rng.choice([4, 9, 16, 30])))

        conflicts = list(check(Evidence(history=parse(lines))))

        assert list(check(Evidence(history=in_columns(lines)))) == conflicts, lines
        found += bool(conflicts)
    assert found > cases(400 * ROUNDS) / 10


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS[:-1], ids=lambda check: check.__name__)
def test_a_history_that_is_long_enough_to_be_narrowed_is_judged_alike(check: Callable[..., Any]) -> None:
    found = 0
    for seed in range(8 * ROUNDS):
        lines = list(lock_lines(random.Random(seed), holds.FEW + 40))

        conflicts = list(check(Evidence(history=parse(lines))))

        assert list(check(Evidence(history=in_columns(lines)))) == conflicts, seed
        found += bool(conflicts)
    assert found


@pytest.mark.parametrize(
    ("released", "until", "stuck"), [(33, 56, 0), (33, 57, 1), (None, 73, 0), (None, 74, 1)]
)
def test_a_lock_is_free_from_its_release_or_from_the_end_of_its_lease(
    released: int | None, until: int, stuck: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "FEW", 0)
    events: list[tuple[int, int, str, str, dict[str, object]]] = [
        (0, 0, "invoke", "read", {}),
        (1, 0, "fail", "read", {}),
        (30, 0, "invoke", "acquire", {"owner": "b"}),
        (31, 0, "ok", "acquire", {"owner": "b", "token": 1, "ttl": 20}),
        (34, 1, "invoke", "acquire", {"owner": "c"}),
        (until, 1, "fail", "acquire", {"owner": "c"}),
    ]
    if released is not None:
        events += [
            (32, 0, "invoke", "release", {"owner": "b"}),
            (released, 0, "ok", "release", {"owner": "b"}),
        ]
    lines = in_lines(*events, grace=2)

    assert len(list(stuck_locks(Evidence(history=parse(lines))))) == stuck
    assert len(list(stuck_locks(Evidence(history=in_columns(lines))))) == stuck


def test_clients_that_wait_one_after_the_other_wait_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "FEW", 0)
    waits = [(5, 9), (10, 14), (13, 20)]  # a gap of a breath, and an overlap
    lines = in_lines(
        (0, 0, "invoke", "read", {}),
        (1, 0, "fail", "read", {}),
        *((called, n, "invoke", "acquire", {"owner": f"o{n}"}) for n, (called, _) in enumerate(waits, 1)),
        *((ended, n, "fail", "acquire", {"owner": f"o{n}"}) for n, (_, ended) in enumerate(waits, 1)),
        grace=10,
        ttl=3,
    )

    assert len(list(stuck_locks(Evidence(history=parse(lines))))) == 1
    assert len(list(stuck_locks(Evidence(history=in_columns(lines))))) == 1


def test_a_history_of_nothing_but_acquires_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "FEW", 0)
    lines = in_lines(
        *((2 * n, n, "invoke", "acquire", {"owner": f"o{n}"}) for n in range(2)),
        *((2 * n + 1, n, "ok", "acquire", {"owner": f"o{n}", "token": 7}) for n in range(2)),
    )

    assert len(list(duplicate_tokens(Evidence(history=in_columns(lines))))) == 1
