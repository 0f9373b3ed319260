"""How stuck locks are explained."""

from __future__ import annotations

import json

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Account

Request = tuple[int, float, float]  # a client, and when it asked and was refused; s


def stuck(*requests: Request, attempt: float | None = None) -> Account:
    """The explanation of a stuck lock; with an attempt, the last request was granted by that."""
    events = []
    for number, (client, asked, answered) in enumerate(requests):
        acquire = {"process": client, "f": "acquire", "resource": "r0", "owner": f"{client}-{number}"}
        is_granted = attempt is not None and number == len(requests) - 1
        granted = {"type": "ok", "token": 1, "ttl": 300_000_000, "attempt": round((attempt or 0) * 1e9)}
        events.append((asked, acquire | {"type": "invoke"}))
        events.append((answered, acquire | (granted if is_granted else {"type": "fail"})))
    header = '{"fencepost":1,"target":"test","ttl":300000000,"grace":1000000000,"clients":4}\n'
    lines = [
        json.dumps({"time": round(time * 1e9), **event}) + "\n"
        for time, event in sorted(events, key=lambda each: each[0])
    ]
    verdict = judge(parse([header, *lines]))
    (finding,) = (each for each in verdict.findings if each.anomaly == "stuck-lock")
    return finding.account


def test_several_who_waited_are_not_said_to_be_one() -> None:
    account = stuck((0, 0.0, 3.0), (1, 0.5, 2.9))

    assert account.story == (
        "The lock on r0 was free from 0.300 s on.",
        "Clients waited for it until 3.000 s.",
        "No fault was in force on the lock service, and no client was granted it.",
    )
    assert account.summary.endswith(", clients waited for it, and no client got it")


def test_requests_that_are_only_counted_may_have_had_gaps_between_them() -> None:
    account = stuck(*((0, each, each + 0.5) for each in (0.0, 0.55, 1.1, 1.65, 2.2)))

    assert account.story[1] == "Client 0 waited for it until 2.700 s."
    assert ("Before them, 2 more requests waited, with gaps of at most 0.100 s from one to the next.") in [
        step.text for step in account.steps
    ]


def test_an_attempt_right_after_the_call_is_not_a_long_wait() -> None:
    account = stuck((0, 0.0, 2.0), (1, 2.05, 2.1), attempt=2.0501)

    assert (
        "Client 1 asked for it at 2.050000 s (line 4) and right after that sent the attempt that was"
        " granted, answered at 2.100 s (line 5)."
    ) in [step.text for step in account.steps]
