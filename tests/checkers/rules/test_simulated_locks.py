"""Lock services of six kinds: right ones are never accused, wrong ones as the definitions say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.history.faults import client_of, faults_of
from checkers.history.reader import parse
from checkers.history.records import History
from checkers.rules.double_grants import double_grants
from checkers.rules.early_grants import early_grants
from checkers.rules.starvation import starved
from checkers.rules.tokens import duplicate_tokens, token_regressions
from tests.oracles import pairwise, starvation
from tests.support.differential import SCALE, compared
from tests.support.selection import Cases
from tests.support.simulated_services import TIMEOUT, TTL
from tests.support.simulation import Simulation

NEVER = 10**8
"""ns; longer than any run."""

KINDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "leases with tokens": ({}, ()),
    "leases without tokens": ({}, ("token",)),
    "sessions without a promise": ({}, ("ttl",)),
    "owners that acquire again": ({"again": "same token"}, ()),
    "advisory locks": ({"ttls": (NEVER,)}, ("token", "ttl")),
    "late answers": ({"ttls": (TTL // 3, TTL, 2 * TTL), "slow": 0.2, "slowest": 12 * TIMEOUT}, ()),
}
"""How each kind is simulated, and what it does not say."""

BUGS: dict[str, dict[str, Any]] = {
    "ends leases early": {"early": TTL // 2},
    "grants to two at once": {"race": 150},
    "is a session's in a pool": {"pooled": "statements"},
}

HIDDEN = {("ends leases early", "sessions without a promise"), ("ends leases early", "advisory locks")}
"""Where a session that ended early looks like one that ended for a reason, or never ends."""

REFUSED = {"slow": 0, "slowest": 100, "patience": 2_000, "end": 80_000}
"""Clients that give up waiting, and a run that is long enough to refuse one for longer than five graces."""

RUNS = max(40, SCALE // (len(KINDS) * (1 + len(BUGS))))
LONG_RUNS = max(3, RUNS // 20)


def simulated(kind: str, seed: int, **more: Any) -> History:
    settings, left_out = KINDS[kind]
    run = Simulation(
        **{"seed": seed, "slow": 0.1, "end": 5_000, "outages": seed % 5 == 0, **settings, **more}
    )
    history = parse(run.lines())
    missing = dict.fromkeys(left_out if seed % 2 else (*left_out, "attempt"))
    tells_all = "0" if seed % 3 == 0 else None  # the owners of one client, now and then
    compared["simulated locks"] += 1
    return replace(
        history,
        operations=tuple(
            op if (op.owner or "").split("-")[0] == tells_all else replace(op, **missing)
            for op in history.operations
        ),
    )


def accused(history: History) -> dict[str, set[int]]:
    """The operations that each rule accuses, and the clients that are starved."""
    evidence = Evidence(history=history)

    def by(check: Callable[[Evidence], Iterable[Conflict]]) -> set[int]:
        return {each.accused.index for each in check(evidence)}

    return {
        "early-grant": by(early_grants),
        "double-grant": by(double_grants),
        "token-regression": by(token_regressions),
        "starvation": {client_of(each.accused.process, history.header) for each in starved(evidence)},
    }


def defined(history: History) -> dict[str, set[int]]:
    """The same by the pairwise."""
    operations = history.operations
    faults = faults_of(history.faults)
    return {
        "early-grant": pairwise.early_grants(operations),
        "double-grant": pairwise.double_grants(operations, [(each.began, each.healed) for each in faults]),
        "token-regression": pairwise.token_regressions(pairwise.with_token(operations)),
        "starvation": starvation.starved(operations, history.header, faults),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_no_right_lock_is_accused(kind: str, cases: Cases) -> None:
    for seed in range(cases(RUNS, least=8)):
        history = simulated(kind, seed)

        assert not any(accused(history).values()), seed
        assert not list(duplicate_tokens(Evidence(history=history))), seed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bug", BUGS)
def test_a_wrong_lock_is_accused_by_the_definitions(bug: str, kind: str, cases: Cases) -> None:
    found: Counter[str] = Counter()
    for seed in range(cases(RUNS, least=8)):
        history = simulated(kind, seed, **BUGS[bug])
        expected = defined(history)

        assert accused(history) == expected, seed
        found.update(name for name, indexes in expected.items() if indexes)
    if (bug, kind) not in HIDDEN:
        assert found["double-grant" if "ttl" in KINDS[kind][1] else "early-grant"]


def test_two_grants_at_once_without_tokens_have_two_readings(cases: Cases) -> None:
    histories = (
        simulated("leases without tokens", seed, **BUGS["grants to two at once"])
        for seed in range(cases(RUNS, least=8))
    )

    found = [each for history in histories for each in early_grants(Evidence(history=history))]

    assert {each.breach.rule for each in found} == {"both-promised", "lease-still-promised"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["leases with tokens", "advisory locks"])
def test_a_lock_that_stays_with_its_session_starves_the_others(kind: str, cases: Cases) -> None:
    found = 0
    for seed in range(cases(LONG_RUNS, least=3)):
        shared, kept = (simulated(kind, seed, **REFUSED, pooled=pooled) for pooled in ("", "releases"))
        expected = defined(kept)["starvation"]

        assert not accused(shared)["starvation"], seed
        assert accused(kept)["starvation"] == expected, seed
        found += bool(expected)
    assert found
