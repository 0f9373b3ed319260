"""The events `granted` and `renewed` of a client's program."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from tests.support.client_programs import command_of, lock_of, storage_of
from tests.support.systems import TTL, Memory
from tests.support.waiting import wait_for
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.clients import ProgramLock
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


GRANTS = """
if op == "acquire":
    {said}
    say(id=number, outcome="ok", token=7, ttl_ms=2000)
"""


def reporting_lock(client: Any, granted: Any) -> Any:
    session = RecordedSession(Memory(), process=10, stride=100, granted=granted)
    return ProgramLock(client, session, TTL)


@pytest.mark.parametrize("fields", ["id=number, ", ""])
def test_a_program_reports_granted_inside_its_acquire(speak: Any, fields: str) -> None:
    reported = []
    client = speak(GRANTS.format(said=f'say({fields}event="granted")'))
    lock = reporting_lock(client, lambda *hold: reported.append(hold))

    grant = lock.acquire("r0", "0-1")

    assert grant.token == 7
    assert reported == [("r0", "0-1")]


def test_a_program_waiting_at_granted_continues_only_with_its_client(speak: Any, tmp_path: Path) -> None:
    went_on = tmp_path / "went-on"
    said = f"""say(id=number, event="granted", wait=True)
    assert json.loads(sys.stdin.readline()) == {{"id": number, "op": "go-on"}}
    open({str(went_on)!r}, "w").close()"""
    before = []
    client = speak(GRANTS.format(said=said))

    def granted(_resource: Any, _owner: Any) -> None:
        wait_for(went_on.exists, seconds=0.2)
        before.append(went_on.exists())

    grant = reporting_lock(client, granted).acquire("r0", "0-1")

    assert grant.token == 7
    assert before == [False]
    assert went_on.exists()


def test_granted_outside_an_acquire_is_ignored(speak: Any) -> None:
    reported = []
    client = speak(
        """
        say(event="granted")
        say(id=number, event="granted")
        say(id=number, outcome="ok", value=None, token=0)
        """
    )
    reporting_lock(client, lambda *hold: reported.append(hold))

    assert storage_of(client).read("r0") == (None, 0)
    assert reported == []


def test_granted_of_an_abandoned_acquire_does_not_count_for_the_next(speak: Any) -> None:
    reported = []
    client = speak(
        """
        if owner := request.get("owner"):
            say(id=2, event="granted")
            say(id=number, outcome="failed", reason=owner)
        else:
            say(id=number, outcome="ok", value=None, token=0)
        """
    )
    lock = reporting_lock(client, lambda *hold: reported.append(hold))
    storage_of(client).read("r0")

    with pytest.raises(NotApplied, match="0-1"):
        lock.acquire("r0", "0-1")

    assert reported == []


def test_granted_with_a_value_other_than_a_flag_is_unknown(speak: Any) -> None:
    client = speak(GRANTS.format(said='say(id=number, event="granted", wait="yes")'))

    with pytest.raises(Unknown, match="Expected `bool`"):
        reporting_lock(client, lambda *_hold: None).acquire("r0", "0-1")
