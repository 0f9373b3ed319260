"""What an answer says about the condition, and which bytes leave when."""

from __future__ import annotations

import json

import pytest

from checkers.history.records import Outcome
from harness.atlas.race import Mode, body_of, outcome_of, pieces_of
from harness.atlas.wire import Request


@pytest.mark.parametrize("status", [200, 201, 204])
def test_a_success_wins(status: int) -> None:
    assert outcome_of(status) is Outcome.OK


@pytest.mark.parametrize("status", [404, 409, 412])
def test_a_refusal_loses(status: int) -> None:
    assert outcome_of(status) is Outcome.FAIL


@pytest.mark.parametrize("status", [None, 100, 301, 400, 403, 405, 408, 429, 500, 501, 503, 504])
def test_any_other_answer_and_none_at_all_leave_it_open(status: int | None) -> None:
    assert outcome_of(status) is Outcome.INFO


@pytest.mark.parametrize("body", [b"", b"x" * 256, b"y" * 1001])
@pytest.mark.parametrize(("mode", "count"), [(Mode.BURST, 1), (Mode.HELD, 2), (Mode.SLOW, 4)])
def test_the_pieces_are_the_whole_request(body: bytes, mode: Mode, count: int) -> None:
    pieces = pieces_of(Request(method="PUT", head=b"PUT / HTTP/1.1\r\n\r\n", body=body), mode)

    assert b"".join(pieces) == b"PUT / HTTP/1.1\r\n\r\n" + body
    assert len(pieces) == count
    assert all(pieces)


def test_held_keeps_back_the_last_byte() -> None:
    request = Request(method="DELETE", head=b"DELETE / HTTP/1.1\r\n\r\n", body=b"")

    assert pieces_of(request, Mode.HELD)[-1] == b"\n"


def test_slow_sends_the_head_before_three_quarters_of_the_body() -> None:
    pieces = pieces_of(Request(method="PUT", head=b"HEAD", body=b"aabbccdd"), Mode.SLOW)

    assert pieces == [b"HEADaa", b"bb", b"cc", b"dd"]


def test_a_body_has_its_size_and_epoch_and_equals_no_other() -> None:
    one, other = body_of("c15", 2, 256), body_of("c15", 2, 256)

    assert (len(one), json.loads(one)["epoch"], json.loads(one)["owner"]) == (256, 2, "c15")
    assert one != other
