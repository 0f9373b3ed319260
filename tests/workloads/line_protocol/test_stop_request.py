"""The request "stop" of a program whose client is to leave, and SIGTERM for one that does not know it."""

from __future__ import annotations

import signal
import textwrap
import threading
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from tests.support.client_programs import command_of
from tests.support.systems import TTL, Memory
from tests.support.waiting import SOON, wait_for
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.clients import ProgramLock

PROGRAM = """
import json, os, select, signal, sys, time
def say(**fields):
    print(json.dumps(fields), flush=True)
def read():
    return json.loads(sys.stdin.readline())
say(id=read()["id"], outcome="ok", stop={knows})
for line in iter(sys.stdin.readline, ""):
    request = json.loads(line)
    number, op = request["id"], request["op"]
{body}
"""
RELEASES_FIRST = """
if op == "write":
    stop = read()
    say(id=stop["id"], outcome="ok")
    time.sleep(0.05)
say(id=number, outcome="ok", token=1, ttl_ms=1000)
"""


def source(body: str, *, knows: bool = True) -> Any:
    return command_of(PROGRAM.format(knows=knows, body=textwrap.indent(textwrap.dedent(body), "    ")))


class Leaving:
    """A lock of a program, what is recorded of its releases, and the event that its client is to leave."""

    def __init__(self, client: Any) -> None:
        self.event, self.memory = threading.Event(), Memory()
        session = RecordedSession(self.memory, process=10, stride=100)
        self.lock = ProgramLock(client, session, TTL, self.event)

    def recorded(self) -> list[tuple[str, str, str]]:
        events = [*self.memory.of("ok"), *self.memory.of("fail"), *self.memory.of("info")]
        return [(event["f"], event["owner"], event["type"]) for event in events]


def test_a_stop_is_sent_while_a_write_is_outstanding_and_recorded(speak: Any) -> None:
    client = speak(source(RELEASES_FIRST), SOON)
    leaving = Leaving(client)
    leaving.lock.acquire("r0", "3-1")
    threading.Timer(0.05, leaving.event.set).start()

    client.request("write", resource="r0", token=1, value="x")

    assert leaving.lock.leave_in_order()
    assert leaving.recorded() == [("release", "3-1", "ok")]


def test_no_stop_is_sent_during_an_acquire(speak: Any) -> None:
    body = """
    if op == "acquire":
        came = select.select([0], [], [], 0.3)[0]
        say(id=number, outcome="ok", token=len(came), ttl_ms=None)
    else:
        say(id=number, outcome="ok")
    """
    leaving = Leaving(speak(source(body), SOON))
    threading.Timer(0.05, leaving.event.set).start()

    grant = leaving.lock.acquire("r0", "3-1")

    assert grant.token == 0
    assert leaving.lock.leave_in_order()
    assert leaving.recorded() == [("release", "3-1", "ok")]


def test_a_client_that_holds_nothing_has_nothing_to_record(speak: Any) -> None:
    body = 'say(id=number, outcome="ok" if request == {"id": 0, "op": "stop", "resource": None, "owner": None} else "failed")'
    client = speak(source(body), SOON)
    leaving = Leaving(client)
    leaving.event.set()

    assert not leaving.lock.leave_in_order()
    assert leaving.recorded() == []
    client.stop(None, None)  # else it has failed


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (
            'say(id=number, outcome="failed") if op == "stop" else say(id=number, outcome="ok", token=1, ttl_ms=9)',
            "fail",
        ),
        ('os._exit(3) if op == "stop" else say(id=number, outcome="ok", token=1, ttl_ms=9)', "info"),
    ],
)
def test_a_stop_that_released_nothing_leaves_that_to_the_client(speak: Any, body: str, outcome: str) -> None:
    leaving = Leaving(speak(source(body), SOON))
    leaving.lock.acquire("r0", "3-1")
    leaving.event.set()

    assert not leaving.lock.leave_in_order()
    assert leaving.recorded() == [("release", "3-1", outcome)]


def test_a_program_that_stops_is_not_started_again(speak: Any) -> None:
    client = speak(source("os._exit(3)"), SOON)

    with pytest.raises(Unknown, match="the program ended with"):
        client.stop("r0", "3-1")

    assert not client.reconnect("storage")
    assert client._program.has_ended


def test_a_program_without_the_request_gets_sigterm(speak: Any) -> None:
    client = speak(source('say(id=number, outcome="ok")', knows=False), SOON)
    leaving = Leaving(client)
    leaving.event.set()

    assert not leaving.lock.leave_in_order()
    client.leave()

    assert client._program.process.returncode == -signal.SIGTERM


def test_a_program_that_answered_its_stop_ends_with_its_input(speak: Any) -> None:
    client = speak(source('say(id=number, outcome="ok")'), SOON)
    Leaving(client)
    client.stop(None, None)

    client.leave()

    assert wait_for(lambda: client._program.has_ended)
    assert client._program.process.returncode == 0


def test_an_unsupported_stop_is_known_to_have_released_nothing(speak: Any) -> None:
    client = speak(source('say(id=number, outcome="unsupported")'), SOON)
    Leaving(client)

    with pytest.raises(NotApplied):
        client.stop("r0", "3-1")


@pytest.mark.parametrize("said", ["released", '{"outcome": "ok"}', '{"id": 99, "outcome": "ok"}'])
def test_an_unusable_answer_to_a_stop_leaves_the_release_unknown(speak: Any, said: str) -> None:
    body = f'print({said!r}, flush=True) if op == "stop" else say(id=number, outcome="ok", token=1, ttl_ms=9)'
    leaving = Leaving(speak(source(body), SOON))
    leaving.lock.acquire("r0", "3-1")
    leaving.event.set()

    assert not leaving.lock.leave_in_order()
    assert leaving.recorded() == [("release", "3-1", "info")]
