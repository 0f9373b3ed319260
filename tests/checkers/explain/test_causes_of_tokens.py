"""The fault behind two grants whose tokens do not rise, and its place in their story."""

from __future__ import annotations

import pytest

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Account
from tests.support.events import call, recorded, struck

Moments = tuple[float, float]  # s


def explained(*faults: Moments, older: Moments, newer: Moments, tokens: tuple[int, int] = (7, 7)) -> Account:
    """The explanation of two grants, when the lock service was paused during these times."""
    events = []
    for process, (times, token) in enumerate(zip((older, newer), tokens, strict=True)):
        called, returned = map(in_ns, times)
        grant = {"owner": f"{process}-1", "ttl": 300_000_000}
        events += call(process, "acquire", called, returned, {"token": token}, **grant)
    for times in faults:
        events += struck("pause", "lock", *map(in_ns, times))
    (finding,) = judge(recorded(*events, ttl=300_000_000, clients=2)).findings
    return finding.account


def in_ns(seconds: float) -> int:
    return round(seconds * 1e9)


def began(account: Account) -> float | None:
    """When the fault began that is the cause; s."""
    named = [step for step in account.steps if step.faults]
    assert (account.cause is None) == (not named)
    return float(named[0].text.partition(" was paused ")[2].partition("–")[0]) if named else None


ONE = (0.0, 1.0)  # a grant


@pytest.mark.parametrize(
    ("faults", "newer", "says"),
    [
        ([(0.2, 0.8), (2.0, 3.0)], (2.4, 2.5), 2.0),  # the first had healed before the older grant returned
        ([(1.2, 1.5), (2.0, 3.0)], (2.4, 2.5), 2.0),  # rather one during the newer grant
        ([(1.2, 1.5), (1.6, 1.8)], (2.4, 2.5), 1.2),  # else the first in between
        ([(0.2, 0.8), (2.6, 3.0)], (2.4, 2.5), None),  # none in between
        ([(0.2, 0.8)], (0.5, 1.5), None),  # not even while the newer grant was asked for
    ],
)
def test_the_fault_behind_a_shared_token_was_in_force_between_the_grants(
    faults: list[Moments], newer: Moments, says: float | None
) -> None:
    assert began(explained(*faults, older=ONE, newer=newer)) == says


def test_a_shared_token_is_explained_in_the_order_of_time() -> None:
    account = explained((0.5, 3.0), older=ONE, newer=(2.4, 2.5))

    assert account.story == (
        "The lock service was paused from 0.500 s to 3.000 s.",
        "Client 0 was granted the lock on r0 with token 7 at 1.000 s.",
        "Client 1 was granted it at 2.500 s, with the same token again.",
    )
    assert [step.faults for step in account.steps] == [(3, 7), (), (), ()]


def test_a_token_regression_names_its_fault_in_a_step() -> None:
    account = explained((2.0, 3.0), older=ONE, newer=(2.4, 2.5), tokens=(7, 6))

    assert account.steps[0].text == "The lock service was paused 2.000–3.000 s (lines 4 and 7)."
    assert account.story[1] == "The lock service was paused from 2.000 s to 3.000 s."


@pytest.mark.parametrize(
    ("at", "cause"), [("granted", "client:0"), ("acquired", None)]
)  # only that moment is between the grant and its token
def test_a_token_drawn_after_a_pause_is_the_root_of_an_early_grant(at: str, cause: str | None) -> None:
    hit = f'"target":"client:0","evidence":"seen","resource":"r0","owner":"0-1","at":"{at}"'
    history = f"""\
{{"fencepost":1,"target":"test","ttl":1000000000,"clients":2}}
{{"time":100000000,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"0-1"}}
{{"time":200000000,"process":"nemesis","type":"info","f":"pause","value":{{"state":"in force",{hit}}}}}
{{"time":300000000,"process":1,"type":"invoke","f":"acquire","resource":"r0","owner":"1-1"}}
{{"time":1300000000,"process":1,"type":"ok","f":"acquire","resource":"r0","owner":"1-1","token":7,"ttl":1000000000,"attempt":1200000000}}
{{"time":1400000000,"process":"nemesis","type":"info","f":"pause","value":{{"state":"healed",{hit}}}}}
{{"time":1500000000,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"0-1","token":8,"ttl":1000000000,"attempt":150000000}}
"""
    (finding,) = judge(parse(history.splitlines(keepends=True))).findings
    account = finding.account

    assert (account.cause and account.cause.target) == cause
    assert not (account.cause and account.cause.certain)
    assert any("if it held the lock first, the tokens" in step.text for step in account.steps)
    if cause:
        assert account.story == (
            "Client 0 was paused from 0.100 s to 1.300 s.",
            "Client 1 took the lock on r0 with token 7, promised until 2.100 s.",
            (
                "Client 0 had been granted it already, and got its higher token 8 only then:"
                " the tokens are not in the order of the grants."
            ),
        )


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (1, "client 1 and client 0 were both granted the lock on r0"),
        (0, "client 0 was granted the lock on r0 twice"),
    ],
)
def test_one_client_with_a_token_for_two_owners_is_named_once(other: int, says: str) -> None:
    history = f"""\
{{"fencepost":1,"target":"test","ttl":1000000000,"clients":2}}
{{"time":1,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"0-1"}}
{{"time":2,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"0-1","token":7,"ttl":null}}
{{"time":3,"process":{other},"type":"invoke","f":"acquire","resource":"r0","owner":"other"}}
{{"time":4,"process":{other},"type":"ok","f":"acquire","resource":"r0","owner":"other","token":7,"ttl":null}}
"""
    (finding,) = judge(parse(history.splitlines(keepends=True))).findings

    assert finding.summary == f"{says} with token 7"


def test_a_client_may_be_stopped_before_its_token_after_its_promise() -> None:
    """Without `attempt`, the promise of a client that waited counts from its call, and is over by then."""
    hit = '"target":"client:0","evidence":"seen","resource":"r0","owner":"0-1","at":"granted"'
    history = f"""\
{{"fencepost":1,"target":"test","ttl":1000000000,"clients":2}}
{{"time":100000000,"process":0,"type":"invoke","f":"acquire","resource":"r0","owner":"0-1"}}
{{"time":900000000,"process":1,"type":"invoke","f":"acquire","resource":"r0","owner":"1-1"}}
{{"time":1200000000,"process":"nemesis","type":"info","f":"pause","value":{{"state":"in force",{hit}}}}}
{{"time":1300000000,"process":1,"type":"ok","f":"acquire","resource":"r0","owner":"1-1","token":7,"ttl":1000000000}}
{{"time":1400000000,"process":"nemesis","type":"info","f":"pause","value":{{"state":"healed",{hit}}}}}
{{"time":1500000000,"process":0,"type":"ok","f":"acquire","resource":"r0","owner":"0-1","token":8,"ttl":1000000000}}
"""
    (finding,) = judge(parse(history.splitlines(keepends=True))).findings

    assert finding.account.cause is not None
    assert finding.account.cause.target == "client:0"
