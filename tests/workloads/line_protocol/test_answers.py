"""Answers of a program: outcomes, grants, reads and renewals, its `set_up`, and its commit order."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.client_programs import command_of, lock_of, storage_of
from workloads.client import NotApplied, Stale, Unknown
from workloads.commit_room import CommitRoom
from workloads.line_protocol.clients import committed, set_up


def test_the_first_request_has_the_settings(speak: Any) -> None:
    client = speak(
        command_of(
            """
import json, sys
first = json.loads(sys.stdin.readline())
print(json.dumps({"id": first["id"], "outcome": "ok"}), flush=True)
second = json.loads(sys.stdin.readline())
print(json.dumps({"id": second["id"], "outcome": "ok", "first": first, "second": second}), flush=True)
sys.stdin.read()
"""
        )
    )

    answer = client.request("write", resource="r0", token=5, value="0-1.0")

    assert answer["first"] == {
        "id": 1,
        "op": "start",
        "protocol": 1,
        "client": 3,
        "run": "",
        "timeout_ms": 300,
        "lock": {"kind": "client", "endpoints": [], "ttl_ms": 2000, "token": "", "password": ""},
        "storage": {
            "kind": "client",
            "endpoints": ["a:1"],
            "fencing": "none",
            "policy": "strict",
            "fence_on_acquire": False,
            "password": "",
        },
    }
    assert answer["second"] == {"id": 2, "op": "write", "resource": "r0", "token": 5, "value": "0-1.0"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "raised", "said"),
    [
        ('outcome="stale"', Stale, "stale"),
        ('outcome="failed", reason="no row"', NotApplied, "^no row$"),
        ('outcome="failed", reason=" "', NotApplied, "^the program gave no reason$"),
        ('outcome="failed", reason="stale"', NotApplied, "^it said 'stale'$"),
        ('outcome="unsupported"', NotApplied, "does not support it"),
        ('outcome="unknown", reason="timeout"', Unknown, "timeout"),
        ('outcome="OK"', Unknown, "outcome 'OK'"),
        ("outcome=1", Unknown, "Expected `str | null`"),
        ("", Unknown, "no outcome in its answer to"),
    ],
)
def test_the_program_decides_the_outcome_of_a_write(
    speak: Any, answer: str, raised: type[Any], said: str
) -> None:
    storage = storage_of(speak(f"say(id=number, {answer})"))

    with pytest.raises(raised, match=said) as caught:
        storage.write("r0", 5, "0-1.0", lambda: None)

    assert isinstance(caught.value, Stale) == (raised is Stale)
    assert str(caught.value) != "stale" or raised is Stale


def test_only_a_fence_rejects_as_stale(speak: Any) -> None:
    lock, _ = lock_of(speak('say(id=number, outcome="stale")'))

    with pytest.raises(Unknown, match="said outcome 'stale' in its answer to acquire"):
        lock.acquire("r0", "0-1")


def test_a_grant_carries_the_token_the_lease_and_the_attempt(speak: Any) -> None:
    lock, _ = lock_of(
        speak('say(id=number, outcome="ok", token=2**53 + 1, ttl_ms=1500, attempt_ns=time.monotonic_ns())')
    )
    called = time.monotonic_ns()

    grant = lock.acquire("r0", "0-1")

    assert (grant.token, grant.ttl) == (2**53 + 1, 1_500_000_000)
    assert called <= grant.attempt <= time.monotonic_ns()


def test_large_numbers_may_be_strings(speak: Any) -> None:
    lock, _ = lock_of(
        speak(
            'say(id=number, outcome="ok", token=str(2**53 + 1), ttl_ms=1500, attempt_ns=str(time.monotonic_ns()))'
        )
    )
    called = time.monotonic_ns()

    grant = lock.acquire("r0", "0-1")

    assert (grant.token, grant.ttl) == (2**53 + 1, 1_500_000_000)
    assert called <= grant.attempt <= time.monotonic_ns()


def test_a_value_of_digits_stays_a_string(speak: Any) -> None:
    storage = storage_of(speak('say(id=number, outcome="ok", value="12", token="-1")'))

    assert storage.read("r0") == ("12", -1)


def test_a_grant_may_promise_no_length(speak: Any) -> None:
    lock, _ = lock_of(speak('say(id=number, outcome="ok", token=0, ttl_ms=None)'))

    grant = lock.acquire("r0", "0-1")

    assert (grant.token, grant.ttl, grant.attempt) == (0, None, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        *("ttl_ms=2000", "token=5", 'token="five", ttl_ms=2000', 'token="5.0", ttl_ms=2000'),
        *(
            'token=" 5", ttl_ms=2000',
            'token="", ttl_ms=2000',
            "token=str(2**63), ttl_ms=2000",
            'token=5, ttl_ms="2000"',
        ),
        *(
            "token=5.0, ttl_ms=2000",
            "token=True, ttl_ms=2000",
            "token=-1, ttl_ms=2000",
            "token=2**63, ttl_ms=2000",
            "token=5, ttl_ms=0",
        ),
        *(
            'token=5, ttl_ms="2s"',
            "token=5, ttl_ms=2000, attempt_ns=time.time_ns()",
            "token=5, ttl_ms=2000, attempt_ns=1",
        ),
    ],
)
def test_an_ok_with_invalid_fields_is_not_a_grant(speak: Any, fields: str) -> None:
    lock, _ = lock_of(speak(f'say(id=number, outcome="ok", {fields})'))

    with pytest.raises(Unknown, match="the program said"):
        lock.acquire("r0", "0-1")


def test_a_lock_may_give_no_token(speak: Any) -> None:
    lock, _ = lock_of(speak('say(id=number, outcome="ok", token=None, ttl_ms=2000)'))

    granted = lock.acquire("r0", "0-1")

    assert (granted.token, granted.ttl) == (None, 2 * 10**9)


@pytest.mark.parametrize("fields", ["", "value=None", "value=3, token=1", 'value="x", token="one"'])
def test_an_ok_with_invalid_fields_is_not_a_read(speak: Any, fields: str) -> None:
    storage = storage_of(speak(f'say(id=number, outcome="ok", {fields})'))

    with pytest.raises(Unknown, match="the program said"):
        storage.read("r0")


def test_a_program_may_report_that_a_write_was_sent(speak: Any) -> None:
    storage = storage_of(speak('say(id=number, event="sent"); say(id=number, outcome="stale")'))
    sent = []

    with pytest.raises(Stale):
        storage.write("r0", 5, "0-1.0", lambda: sent.append(1))

    assert sent == [1]


RECORDED = 10_000  # bytes


def test_a_program_need_not_support_set_up(speak: Any) -> None:
    set_up(speak('say(id=number, outcome="unsupported")'), ["r0"])


def test_a_failed_set_up_of_a_program_is_reported(speak: Any) -> None:
    with pytest.raises(NotApplied, match=r"^no rights"):
        set_up(speak('say(id=number, outcome="failed", reason="no rights")'), ["r0"])


def test_the_commit_order_is_reported_line_by_line(speak: Any) -> None:
    client = speak(
        """
        for token in (3, 2):
            say(id=number, event="commit", resource="r0", token=token, value=f"0-{token}")
        say(id=number, outcome="ok")
        """
    )

    commits = committed(client, CommitRoom(RECORDED))

    assert [(each.seq, each.resource, each.token, each.value) for each in commits] == [
        (1, "r0", 3, "0-3"),
        (2, "r0", 2, "0-2"),
    ]


def test_the_commit_order_has_the_fences_between_the_writes(speak: Any) -> None:
    client = speak(
        """
        say(id=number, event="commit", resource="r0", token=3, value="0-3")
        say(id=number, event="commit", resource="r0", token=4, fence=True)
        say(id=number, event="commit", resource="r0", token=4, value="0-4")
        say(id=number, outcome="ok")
        """
    )

    assert [
        (each.seq, each.token, each.value, each.fence) for each in committed(client, CommitRoom(RECORDED))
    ] == [
        (1, 3, "0-3", False),
        (2, 4, None, True),
        (3, 4, "0-4", False),
    ]


def test_an_unknown_commit_order_is_none(speak: Any) -> None:
    assert committed(speak('say(id=number, outcome="unsupported")'), CommitRoom(RECORDED)) is None


@pytest.mark.parametrize(
    "body",
    [
        'say(id=number, event="commit", resource="r0", token=3); say(id=number, outcome="ok")',
        'say(id=number, event="commit", resource="r0", token=3, value="x"); os._exit(0)',
        'say(id=number, event="commit", resource="r0", token=3, value="x", fence=True); say(id=number, outcome="ok")',
        'say(id=number, event="commit", resource="r0", fence=True); say(id=number, outcome="ok")',
    ],
)
def test_a_partial_commit_order_is_unknown(speak: Any, body: str) -> None:
    with pytest.raises(Unknown):
        committed(speak(body), CommitRoom(RECORDED))
