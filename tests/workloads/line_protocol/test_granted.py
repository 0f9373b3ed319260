"""The event `granted`, inside an acquire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from tests.support.client_programs import storage_of
from tests.support.systems import TTL, Memory
from tests.support.waiting import wait_for
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.clients import ProgramLock

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
