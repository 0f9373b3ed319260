"""The event `renewed`, at any time: during a request, between two, and after the release."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from tests.support.client_programs import command_of, lock_of
from tests.support.waiting import wait_for
from workloads.client import Unknown
from workloads.line_protocol.pipe import Deadline, LinePipe
from workloads.line_protocol.program_client import ProgramClient

SECOND = 10**9  # ns

RENEWS = """
if op == "acquire":
    say(id=number, outcome="ok", token=5, ttl_ms=2000)
else:
    say(event="renewed", resource={resource!r}, owner={owner!r}, ttl_ms=2000, called_ns={called})
    say(id=number, outcome="ok", value=None, token=0)
"""


def renewals(
    speak: Any, resource: str = "r0", owner: str = "0-1", called: str = "time.monotonic_ns() - 500_000_000"
) -> Any:
    client = speak(RENEWS.format(resource=resource, owner=owner, called=called))
    lock, memory = lock_of(client)
    lock.acquire("r0", "0-1")
    client.request("read", resource="r0")
    return memory.events


def test_a_reported_renewal_is_recorded_with_the_rest_of_its_lease(speak: Any) -> None:
    invoke, ok = renewals(speak)

    assert (invoke["type"], invoke["f"], invoke["owner"]) == ("invoke", "renew", "0-1")
    assert ok["type"] == "ok"
    assert ok["ttl"] < 1.5 * SECOND
    assert invoke["time"] + ok["ttl"] <= ok["time"] + 1.5 * SECOND


@pytest.mark.parametrize("called", ["time.monotonic_ns() - 2_100_000_000", "time.monotonic_ns() + 10**12"])
def test_a_renewal_of_another_time_promises_nothing(speak: Any, called: str) -> None:
    _, ended = renewals(speak, called=called)

    assert ended["type"] == "info"


@pytest.mark.parametrize(("resource", "owner"), [("r0", "0-0"), ("r1", "0-1")])
def test_a_renewal_of_an_unknown_hold_makes_the_outcome_unknown(
    speak: Any, resource: str, owner: str
) -> None:
    with pytest.raises(
        Unknown, match=f"owner '{owner}' of '{resource}', which no acquire of this client had"
    ):
        renewals(speak, resource=resource, owner=owner)


BY_ITSELF = """
import json, sys, threading, time
def say(**fields):
    print(json.dumps(fields), flush=True)
def renew(owner):
    for _ in range(3):
        time.sleep({every})
        say(event="renewed", resource="r0", owner=owner, ttl_ms=2000, called_ns=time.monotonic_ns())
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "acquire":
        threading.Thread(target=renew, args=(request["owner"],)).start()
        say(id=request["id"], outcome="ok", token=5, ttl_ms=2000)
    else:
        time.sleep({release})
        say(id=request["id"], outcome="ok")
"""


def renewing_lock(speak: Any, every: float = 0.05, release: float = 0) -> Any:
    lock, memory = lock_of(speak(command_of(BY_ITSELF.format(every=every, release=release)), 2))
    lock.acquire("r0", "0-1")
    return lock, memory.events


def test_renewals_between_requests_are_recorded_when_they_are_reported(speak: Any) -> None:
    _, events = renewing_lock(speak)

    assert wait_for(lambda: len(events) == 6)
    assert time.monotonic_ns() - events[0]["time"] > SECOND // 20
    assert all(ok["ttl"] > 1.9 * SECOND for ok in events[1::2])


@pytest.mark.parametrize("release", [0, 0.5])
def test_renewals_during_and_after_a_release_are_recorded(speak: Any, release: float) -> None:
    lock, events = renewing_lock(speak, release=release)

    lock.release("r0", "0-1")

    assert wait_for(lambda: len(events) == 6)
    assert {each["owner"] for each in events} == {"0-1"}


def test_a_line_that_came_together_with_an_answer_is_input() -> None:
    reading, writing = os.pipe()
    lines = LinePipe(reading, writing)
    os.write(writing, b"an answer\na report\n")
    lines.receive(Deadline(1))

    before = lines.has_input(0)
    lines.receive(Deadline(1))

    assert (before, lines.has_input(0)) == (True, False)
    os.close(reading)
    os.close(writing)


def test_what_is_wrong_between_requests_makes_the_next_outcome_unknown(speak: Any) -> None:
    client: ProgramClient = speak("""
        say(id=number, outcome="ok", token=5, ttl_ms=2000)
        say(event="renewed", resource="r0")
    """)
    lock, _ = lock_of(client)
    lock.acquire("r0", "0-1")
    assert wait_for(lambda: client._unheard)

    with pytest.raises(Unknown, match=r"the program said .*renewed.*: `owner` is missing"):
        lock.release("r0", "0-1")

    client.reconnect("lock")
    assert lock.acquire("r0", "0-2").token == 5


def test_a_program_that_ends_between_requests_is_started_again(speak: Any) -> None:
    client: ProgramClient = speak("""
        say(id=number, outcome="ok", token=5, ttl_ms=2000)
        sys.exit(3)
    """)
    lock, _ = lock_of(client)
    lock.acquire("r0", "0-1")
    assert wait_for(lambda: client._unheard)

    with pytest.raises(Unknown, match="the program ended with status 3"):
        lock.release("r0", "0-1")

    assert client.reconnect("lock")
    assert lock.acquire("r0", "0-2").token == 5
