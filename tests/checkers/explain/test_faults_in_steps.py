"""A fault is a step of an explanation if it hit the holder or its servers, and comes where it began."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from checkers.history.records import Commit
from checkers.verdict.judge import judge
from checkers.vocabulary.document import CauseDocument
from checkers.vocabulary.verdict import Account
from tests.support.commit_logs import log
from tests.support.events import recorded, struck
from tests.support.literal_histories import LITERAL

Events = list[dict[str, Any]]


def read(history: str = "stale-write/observed") -> tuple[dict[str, Any], Events]:
    """The header and the events of a literal history."""
    header, *events = map(json.loads, LITERAL[history].read_text().splitlines())
    return header, events


def with_fault(target: str, kind: str = "pause", **hold: str) -> tuple[str, ...]:
    """The steps of its finding, with another fault in place of the pause."""
    header, events = read()
    for event in events:
        if event["process"] == "nemesis":
            event["f"] = kind
            event["value"] |= {"target": target, **hold}
    (finding,) = judge(recorded(*events, **header)).findings
    return finding.steps


@pytest.mark.parametrize(
    ("target", "kind", "hold", "says"),
    [
        ("client:0", "pause", {"owner": "0-1", "resource": "r0"}, "Process 0 was paused 0.300–4.000 s"),
        ("client:0", "partition", {"owner": "0-1"}, "Process 0 was cut off 0.300–4.000 s"),
        (
            "storage",
            "kill",
            {},
            "The storage was killed at 0.300 s (line 5); it was seen up again at 4.000 s (line 9).",
        ),
    ],
)
def test_a_fault_of_the_holder_or_of_a_server_is_explained(
    target: str, kind: str, hold: dict[str, str], says: str
) -> None:
    assert any(step.startswith(says) for step in with_fault(target, kind, **hold))


@pytest.mark.parametrize(
    ("target", "hold"),
    [("client:3", {}), ("client:1", {"owner": "1-1", "resource": "r0"}), ("lock", {}), ("storage", {})],
)
def test_a_fault_of_others_or_of_servers_that_lose_nothing_is_no_cause(
    target: str, hold: dict[str, str]
) -> None:
    assert not any("was paused" in step for step in with_fault(target, **hold))


def texts(account: Account) -> list[str]:
    return [step.text for step in account.steps]


def with_another(target: str, *, began: float, healed: float) -> Account:
    """The explanation of its finding, with a partition during the pause; seconds since the first event."""
    header, events = read()
    moments = (events[0]["time"] + round(moment * 1e9) for moment in (began, healed))
    (finding,) = judge(recorded(*events, *struck("partition", target, *moments), **header)).findings
    return finding.account


def test_a_fault_of_the_lock_service_when_the_lease_ended_is_named_too() -> None:
    account = with_another("lock:etcd-1", began=0.5, healed=3)

    named = "another fault was in force: the lock service (etcd-1) was cut off 0.500–3.000 s"
    assert any(named in step for step in texts(account))
    assert account.cause == CauseDocument(certain=True, fault="pause", target="client:0", faults=[5, 11])
    assert account.faults == ("pause", "partition")


@pytest.mark.parametrize(
    ("target", "began", "healed"), [("lock:etcd-1", 0.4, 0.5), ("storage", 0.5, 3), ("client:1", 0.5, 3)]
)
def test_a_fault_over_by_then_or_on_another_part_is_not_named(
    target: str, began: float, healed: float
) -> None:
    account = with_another(target, began=began, healed=healed)

    assert not any("another fault" in step for step in texts(account))
    assert account.faults == ("pause",)


def test_a_lost_write_says_who_still_reached_the_old_primary() -> None:
    header, events = read()
    for event in events:
        if event["process"] == "nemesis":
            event["f"] = "failover"
            left_behind = [0, 1] if event["value"]["state"] == "in force" else []
            event["value"] |= {"target": "storage", "left_behind": left_behind}
    findings = judge(recorded(*events, **header), log((33, "0-1"))).findings
    steps = [step for finding in findings if finding.anomaly == "lost-write" for step in finding.steps]

    assert (
        "Meanwhile the storage failed over at 0.300 s (line 5);"
        " clients 0 and 1 still reached the old primary, all others the new one."
    ) in steps


def cut_off(history: str, began: float, healed: float, *commits: Commit) -> Account:
    """The explanation of the only finding, if the storage was cut off in that time; s since its first event."""
    header, events = read(history)
    later = [event | {"time": event["time"] + 1_000_000_000} for event in events]
    faults = struck("partition", "storage", *(round((1 + moment) * 1e9) for moment in (began, healed)))
    (finding,) = judge(recorded(*later, *faults, **header), commits or None).findings
    return finding.account


BEFORE, DURING = (-0.5, 0.05), (0.02, 0.05)  # of a write from 0 to 0.1 s
TWICE = log((33, "0-1"), (33, "0-1"))


@pytest.mark.parametrize(("times", "place"), [(BEFORE, 0), (DURING, 1)])
def test_a_ghost_write_names_its_fault_where_it_began(times: tuple[float, float], place: int) -> None:
    account = cut_off("ghost-write/read", *times)

    assert [bool(step.faults) for step in account.steps].index(True) == place
    assert [" was cut off from " in sentence for sentence in account.story].index(True) == place


@pytest.mark.parametrize(("times", "place"), [(BEFORE, 0), (DURING, 1)])
def test_a_duplicate_write_names_its_fault_where_it_began(times: tuple[float, float], place: int) -> None:
    account = cut_off("duplicate-write/inclusive", *times, *TWICE)

    assert [bool(step.faults) for step in account.steps].index(True) == place
    assert [" was cut off from " in sentence for sentence in account.story].index(True) == place


COMMITS = log((33, "a"), (35, "c"))


def killed(recording: str, *commits: Commit, unanswered: str = "") -> Mapping[str, Account]:
    """What is found in a history whose storage is killed at 0.55 s, and seen up again at 0.95 s; by anomaly.

    The write of the `unanswered` value never learns its outcome.
    """
    header, events = read(recording)
    kept = [
        event
        for event in events
        if event["process"] != "nemesis"
        and (event["f"], event["type"], event.get("value")) != ("write", "ok", unanswered)
    ]
    history = recorded(*kept, *struck("kill", "storage", 550_000_000, 950_000_000), **header)
    return {each.anomaly: each.account for each in judge(history, commits or None).findings}


def test_a_read_is_not_said_to_come_after_the_storage_was_up_again() -> None:
    account = killed("high-water-regression/plain")["high-water-regression"]

    assert account.story == (
        "Process 2 read 'b' with token 34 from r0.",
        "The storage was killed at 0.550 s.",
        "Then process 3 read 'a' with token 33: the storage has forgotten the higher token.",
    )
    assert not any("After that" in step.text for step in account.steps)


def test_a_lost_write_that_a_client_had_read_says_who_read_it() -> None:
    account = killed("high-water-regression/plain", unanswered="b")["lost-write"]

    assert account.story[0] == "Process 1 wrote 'b' with token 34 to r0, and process 2 read it."


def test_a_lost_write_that_no_client_read_had_been_acknowledged() -> None:
    account = killed("lost-write/committed", *COMMITS)["lost-write"]

    assert account.story[0].endswith(", and the storage acknowledged it.")
