"""The stories of reads that came too late, false refusals, lost updates and stuck locks."""

from __future__ import annotations

import json

import pytest

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from checkers.vocabulary.document import CauseDocument
from checkers.vocabulary.verdict import Account, Finding
from tests.support.commit_logs import log
from tests.support.events import call, recorded, struck
from tests.support.repository import HISTORIES

COMMITS = log((33, "0-1"), (34, "1-1"))
TENTH = 100_000_000  # ns


def stale_read(*, failover: bool) -> Account:
    """Clients 0 and 1 write, then client 0 reads its own value again."""
    first = {"token": 33, "value": "0-1"}
    began, healed = struck("failover", "storage", 2 * TENTH, 9 * TENTH)
    began["value"]["left_behind"] = [0]
    events = [
        *call(0, "write", 0, TENTH, **first),
        *call(1, "write", 3 * TENTH, 4 * TENTH, token=34, value="1-1"),
        *call(0, "read", 5 * TENTH, 6 * TENTH, first),
        *([began, healed] if failover else []),
    ]
    (finding,) = judge(recorded(*events, fenced=True, policy="strict", clients=2), COMMITS).findings
    assert finding.anomaly == "stale-read"
    return finding.account


def test_a_stale_read_says_who_wrote_what_and_what_replaced_it() -> None:
    account = stale_read(failover=False)

    assert account.cause is None
    assert account.story == (
        "Client 0 wrote '0-1' to r0.",
        "Client 1 replaced it with '1-1', which was accepted by 0.400 s.",
        "After that, at 0.500 s, client 0 still read '0-1'.",
    )


def test_a_stale_read_names_the_failover_and_whom_it_left_behind() -> None:
    account = stale_read(failover=True)

    assert account.cause == CauseDocument(certain=False, fault="failover", target="storage", faults=[4, 9])
    assert account.steps[0].text == (
        "The storage failed over 0.200–0.900 s (lines 4 and 9);"
        " client 0 still reached the old primary, all others the new one."
    )
    assert account.story == (
        "The storage failed over from 0.200 s to 0.900 s.",
        "Client 1 replaced '0-1' on r0 with '1-1', which was accepted by 0.400 s.",
        "After that, at 0.500 s, client 0 still read '0-1'.",
    )


@pytest.mark.parametrize(("policy", "tokens"), [("strict", "newer or equal"), ("inclusive", "newer")])
def test_a_false_rejection_says_which_tokens_would_have_been_its_cause(policy: str, tokens: str) -> None:
    refused = call(0, "write", 0, TENTH, {"type": "fail", "error": "stale"}, token=33, value="a")
    (finding,) = judge(recorded(*refused, fenced=True, policy=policy)).findings

    assert finding.account.summary == (
        "the storage refused process 0's write of 'a' with token 33 to r0 as stale,"
        f" though no {tokens} token can have been accepted"
    )


def found(*events: tuple[int, int, str, str, dict[str, object]]) -> Finding:
    """The lost update that is found: of each event the time, the process, the type, the operation and more."""
    lines = [
        {"time": time, "process": process, "type": kind, "f": f, "resource": "r0", **fields}
        for time, process, kind, f, fields in events
    ]
    verdict = judge(recorded(*lines, policy="inclusive", fence_on_acquire=True))
    (finding,) = (each for each in verdict.findings if each.anomaly == "lost-update")
    return finding


def test_an_append_that_does_not_say_so_had_read_all_but_its_element() -> None:
    finding = found(
        (1, 0, "invoke", "append", {"token": 5, "element": "a"}),
        (2, 0, "info", "append", {"token": 5, "element": "a"}),
        (2, 2, "invoke", "append", {"token": 6, "element": "b"}),
        (3, 1, "invoke", "read", {}),
        (4, 1, "ok", "read", {"token": 5, "value": ["x", "y", "a"]}),
        (6, 2, "ok", "append", {"token": 6, "element": "b", "read": ["x", "y"], "written": ["x", "y", "b"]}),
    )

    assert finding.steps[0].endswith(", read a list of 2 elements and wrote it back with 'a'.")


def test_without_an_answer_it_is_not_known_which_list_an_append_had_read() -> None:
    lines = (HISTORIES / "lost-update/of-a-list-read-too-early.jsonl").read_text().splitlines()
    answered = next(line for line in lines if '"type":"ok"' in line and '"element":"1-1"' in line)
    unanswered = json.loads(answered) | {"type": "info", "error": "timed out"}
    del unanswered["read"], unanswered["written"]

    history = parse([json.dumps(unanswered) if line == answered else line for line in lines])

    (finding,) = judge(history).findings
    assert "and it is not known which list it had read." in finding.steps[3]


Request = tuple[int, float, float]  # a client, and when it asked and was refused; s


def stuck(*requests: Request, attempt: float | None = None) -> Account:
    """The explanation of a stuck lock; with an attempt, the last request was granted by that."""
    events = []
    for number, (client, asked, answered) in enumerate(requests):
        is_granted = attempt is not None and number == len(requests) - 1
        granted = {"token": 1, "ttl": 300_000_000, "attempt": round((attempt or 0) * 1e9)}
        answer = granted if is_granted else {"type": "fail"}
        moments = round(asked * 1e9), round(answered * 1e9)
        events += call(client, "acquire", *moments, answer, owner=f"{client}-{number}")
    verdict = judge(recorded(*events, ttl=300_000_000, grace=1_000_000_000, clients=4))
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
