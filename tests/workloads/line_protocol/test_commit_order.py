"""A program's `set_up`, and the commit order that it reports."""

from __future__ import annotations

from typing import Any

import pytest

from workloads.client import NotApplied, Unknown
from workloads.commit_room import CommitRoom
from workloads.line_protocol.clients import committed, set_up

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
