"""The stories of reads that came too late: who wrote what, what replaced it, and the failover in between."""

from __future__ import annotations

import json

from checkers.history.reader import parse
from checkers.history.records import Commit
from checkers.verdict.judge import judge
from checkers.vocabulary.document import CauseDocument
from checkers.vocabulary.verdict import Account

COMMITS = tuple(
    Commit(seq=seq, resource="r0", token=token, value=value)
    for seq, token, value in ((1, 33, "0-1"), (2, 34, "1-1"))
)


def stale_read(*, failover: bool) -> Account:
    """Clients 0 and 1 write, then client 0 reads its own value again."""
    first: dict[str, object] = {"process": 0, "f": "write", "resource": "r0", "token": 33, "value": "0-1"}
    second: dict[str, object] = {"process": 1, "f": "write", "resource": "r0", "token": 34, "value": "1-1"}
    read: dict[str, object] = {"process": 0, "f": "read", "resource": "r0"}
    fault: dict[str, object] = {"process": "nemesis", "type": "info", "f": "failover"}
    storage: dict[str, object] = {"target": "storage", "evidence": "seen"}
    events: list[tuple[float, dict[str, object]]] = [
        (0.0, first | {"type": "invoke"}),
        (0.1, first | {"type": "ok"}),
        (0.2, fault | {"value": storage | {"state": "in force", "left_behind": [0]}}),
        (0.3, second | {"type": "invoke"}),
        (0.4, second | {"type": "ok"}),
        (0.5, read | {"type": "invoke"}),
        (0.6, read | {"type": "ok", "token": 33, "value": "0-1"}),
        (0.9, fault | {"value": storage | {"state": "healed"}}),
    ]
    lines = [
        json.dumps({"time": round(time * 1e9), **event}) + "\n"
        for time, event in events
        if failover or event["f"] != "failover"
    ]
    header = '{"fencepost":1,"target":"test","fenced":true,"policy":"strict","clients":2}\n'
    (finding,) = judge(parse([header, *lines]), COMMITS).findings
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
