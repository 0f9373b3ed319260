"""Reading histories: a history that no run can have recorded is refused with file, line and value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers.history.reader import parse, read
from checkers.history.records import Outcome
from checkers.text.errors import HistoryError
from tests.support.events import (
    ACQUIRE,
    ACQUIRED,
    APPEND,
    APPENDED,
    GOOD,
    HEADER,
    PAUSED,
    READ,
    WAS_READ,
    WRITE,
    WRITTEN,
    changed,
    refusal,
    without,
)


def test_a_history_becomes_operations_in_the_order_of_their_calls() -> None:
    history = parse(GOOD)

    acquire, write, read_ = history.operations
    assert (acquire.f, acquire.owner, acquire.token, acquire.ttl, acquire.attempt) == (
        "acquire",
        "0-1",
        33,
        2000,
        15,
    )
    assert (write.called, write.returned, write.outcome, write.value) == (30, 40, Outcome.OK, "a")
    assert (read_.token, read_.value, read_.lines) == (33, "a", (6, 7))
    assert history.header.require == {"stale_writes_attempted": 1}
    assert history.faults[0].target == "client:0"
    assert history.faults[0].line == 8
    assert history.started == 10


def test_an_info_has_no_end_but_its_client_learned_of_it() -> None:
    info = changed(WRITTEN, type="info", error="timed out")

    (op,) = parse([HEADER, WRITE, info]).operations

    assert (op.outcome, op.returned, op.learned) == (Outcome.INFO, None, 40)


def test_an_operation_that_is_still_open_at_the_end_is_pending() -> None:
    (op,) = parse([HEADER, WRITE]).operations

    assert (op.outcome, op.returned, op.learned, op.lines) == (Outcome.INFO, None, None, (2,))


def test_a_write_may_carry_no_token_and_a_read_may_have_none() -> None:
    bare, written = without(WRITE, "token"), changed(WRITTEN, token=None)

    write, read_ = parse([HEADER, bare, written, READ, changed(WAS_READ, token=None)]).operations

    assert (write.outcome, write.token, write.value) == (Outcome.OK, None, "a")
    assert (read_.token, read_.value) == (None, "a")


def test_an_append_is_a_write_of_the_list_that_it_wrote() -> None:
    (append,) = parse([HEADER, APPEND, APPENDED]).operations

    assert (append.f, append.token, append.element) == ("append", 33, "e")
    assert (append.seen, append.value) == (("x",), ("x", "e"))


@pytest.mark.parametrize("kind", ["info", "fail"])
def test_an_append_without_an_answer_may_know_its_lists(kind: str) -> None:
    knows_all = changed(APPENDED, type=kind)
    knows_one = without(knows_all, "written")
    knows_none = without(knows_one, "read")

    operations = [parse([HEADER, APPEND, end]).operations[0] for end in (knows_all, knows_one, knows_none)]

    assert [(op.seen, op.value) for op in operations] == [(("x",), ("x", "e")), (("x",), None), (None, None)]
    (pending,) = parse([HEADER, APPEND]).operations
    assert (pending.seen, pending.value, pending.element) == (None, None, "e")


def test_a_list_is_kept_once_however_often_it_is_read() -> None:
    reads = [(READ, changed(WAS_READ, value=["x", "e"])) for _ in range(2)]
    lines = [
        changed(line, time=60 + 2 * place + end)
        for place, pair in enumerate(reads)
        for end, line in enumerate(pair)
    ]

    append, one, other = parse([HEADER, APPEND, APPENDED, *lines]).operations

    assert append.value is one.value is other.value


def test_the_header_has_the_grace_and_the_fence_of_a_new_holder() -> None:
    plain = parse([HEADER]).header
    read_header = parse([changed(HEADER, grace=5, fence_on_acquire=True, initial={"value": [1, "x"]})]).header

    assert (plain.grace, plain.fence_on_acquire) == (10_000_000_000, False)
    assert (read_header.grace, read_header.fence_on_acquire, read_header.initial_value) == (5, True, (1, "x"))


def test_the_header_says_what_is_expected() -> None:
    header = changed(
        HEADER,
        expect=["stale-write"],
        may=["late-write"],
        require={"pauses": 2},
        clients=5,
        initial={"value": 3, "token": -1},
    )

    read_ = parse([header]).header

    assert (read_.expect, read_.may, read_.require) == (
        ("stale-write",),
        ("late-write",),
        {"stale_writes_attempted": 1, "pauses": 2},
    )
    assert (read_.clients, read_.initial_value, read_.initial_token) == (5, 3, -1)
    assert parse([changed(HEADER, expect="valid")]).header.expect == ()


def test_fields_that_are_not_known_are_left_aside() -> None:
    assert parse([changed(HEADER, x=[1.5]), changed(WRITE, colour={"a": None})]).operations


@pytest.mark.parametrize(
    ("lines", "line", "says"),
    [
        ([], 1, "the file is empty"),
        ([WRITE], 1, "missing required field `fencepost`"),
        ([changed(HEADER, fencepost=2)], 1, "fencepost"),
        ([changed(HEADER, fencepost=True)], 1, "fencepost"),
        ([changed(HEADER, policy="lax")], 1, "Invalid enum value 'lax'"),
        ([changed(HEADER, expect=["stale-wirte"])], 1, "did you mean 'stale-write'?"),
        ([changed(HEADER, require={"pausse": 1})], 1, "did you mean 'pauses'?"),
        ([changed(HEADER, require={"pauses": -1})], 1, "$.require"),
        ([HEADER, WRITTEN], 2, "process 0 has no operation open: this ok has no invoke"),
        ([HEADER, changed(WRITTEN, type="info")], 2, "this info has no invoke"),
        ([HEADER, WRITE, WRITTEN, WRITTEN], 4, "has no invoke"),
        ([HEADER, WRITE, changed(READ, time=35)], 3, "has an operation open since line 2"),
        ([HEADER, WRITE, changed(WRITTEN, time=29)], 3, "time runs backwards from 30 to 29"),
        ([HEADER, READ, WRITE], 3, "time runs backwards from 50 to 30"),
        ([HEADER, PAUSED, READ], 3, "time runs backwards from 70 to 50"),
        ([HEADER, WRITE, changed(WRITTEN, resource="r1")], 3, "resource is 'r1'"),
        ([HEADER, WRITE, changed(WRITTEN, token=34)], 3, "token is 34"),
        ([HEADER, WRITE, changed(WRITTEN, value="b")], 3, "value is 'b'"),
        ([HEADER, changed(WRITE, value="1"), changed(WRITTEN, value=1)], 3, "value is 1"),
        ([HEADER, ACQUIRE, changed(ACQUIRED, owner="1-1")], 3, "owner is '1-1'"),
        ([HEADER, WRITE, changed(WAS_READ, time=40)], 3, "ok of read, but line 2 invoked write"),
        (
            [HEADER, WRITE, changed(WRITTEN, type="info"), READ],
            4,
            "process 0 ended in info at line 3 and is used again",
        ),
        ([HEADER, WRITE, WRITTEN, changed(WRITE, time=41)], 4, "value 'a' is also written at line 2"),
        ([HEADER, changed(WRITE, value=None)], 2, "value null is the initial one"),
        ([HEADER, ACQUIRE, without(ACQUIRED, "token")], 3, "an ok acquire without a token"),
        ([HEADER, READ, without(WAS_READ, "token")], 3, "an ok read without a token"),
        ([HEADER, READ, without(WAS_READ, "value")], 3, "an ok read without a value"),
        ([HEADER, ACQUIRE, changed(ACQUIRED, attempt=9)], 3, "attempt 9 lies outside"),
        ([HEADER, ACQUIRE, changed(ACQUIRED, attempt=21)], 3, "attempt 21 lies outside"),
        ([HEADER, without(changed(WRITE, f="fence"), "token")], 2, "missing required field `token`"),
        (
            [HEADER, WRITE, without(WRITTEN, "token")],
            3,
            "token is null, but the operation was invoked with 33",
        ),
        ([HEADER, APPEND, changed(APPENDED, element="b", written=["x", "b"])], 3, "element is 'b'"),
        ([HEADER, APPEND, without(APPENDED, "read")], 3, "an ok append without its lists"),
        ([HEADER, APPEND, without(APPENDED, "written")], 3, "an ok append without its lists"),
        ([HEADER, APPEND, changed(APPENDED, written=["x"])], 3, "ends with its element, here 'e'"),
        ([HEADER, APPEND, changed(APPENDED, type="info", written=[])], 3, "ends with its element, here 'e'"),
        ([HEADER, APPEND, changed(APPENDED, written=[["e"]])], 3, "got `array` - at `$.written[0]`"),
        ([HEADER, changed(APPEND, element=None)], 2, "got `null` - at `$.element`"),
        ([HEADER, APPEND, APPENDED, changed(APPEND, time=41)], 4, "value 'e' is also written at line 2"),
        ([HEADER, WRITE, WRITTEN, changed(APPEND, time=41, element="a")], 4, "is also written at line 2"),
        ([changed(HEADER, initial={"value": ["e"], "token": 0}), APPEND], 2, "value 'e' is the initial one"),
        ([HEADER, without(WRITE, "value")], 2, "missing required field `value`"),
        ([HEADER, changed(WRITE, time=1.0)], 2, "got `float`"),
        ([HEADER, changed(WRITE, time=True)], 2, "got `bool`"),
        ([HEADER, changed(WRITE, time=-1)], 2, "time is too small: at least 0"),
        ([HEADER, changed(WRITE, token=10**400)], 2, "token is too large: at most 9223372036854775807"),
        ([HEADER, changed(WRITE, value=1.5)], 2, "$.value"),
        ([HEADER, changed(WRITE, value=[])], 2, "$.value"),
        ([HEADER, changed(WRITE, value=float("nan")) + "\n"], 2, "malformed"),
        ([HEADER, changed(WRITE, process="0")], 2, "$.process"),
        ([HEADER, changed(WRITE, process="nemesis")], 2, "$.type"),
        ([HEADER, changed(WRITE, f="swap")], 2, "Invalid value 'swap'"),
        ([HEADER, changed(WRITE, f="x" * 3000)], 2, "x… (3,000 characters)' - at `$.f`"),
        ([HEADER, changed(WRITE, type="maybe")], 2, "Invalid enum value 'maybe'"),
        ([HEADER, changed(PAUSED, f="an earthquake")], 2, "$.f"),
        ([HEADER, changed(PAUSED, value={"target": "x", "state": "?"})], 2, "$.value.state"),
        ([HEADER, "[]"], 2, "Expected `object`"),
        ([HEADER, changed(WRITE, token=2**63)], 2, "token is too large: at most 9223372036854775807"),
        ([HEADER, changed(WRITE, token=-1)], 2, "token is too small: at least 0"),
        ([HEADER, "\n", WRITE], 2, "the line is empty"),
        ([HEADER, "{]\n", WRITE], 2, "malformed"),
        ([HEADER, '{"x":' + "[" * 100_000 + "\n", WRITE], 2, ""),
        ([HEADER, changed(WRITE, value="x" * (1 << 20))], 2, "the line is over 1 MiB"),
        ([HEADER, b'{"time":"\xff"}\n', WRITE], 2, "not UTF-8"),
        ([HEADER, '{"time":"\ud800"}\n', WRITE], 2, "not UTF-8"),
    ],
)
def test_impossible_records_are_refused(lines: list[Any], line: int, says: str) -> None:
    error = refusal(*lines)

    assert (error.file, error.line) == ("h.jsonl", line)
    assert says in str(error)
    assert str(error).startswith(f"h.jsonl:{line}: ")
    assert len(str(error)) < 600


def test_files_are_read_with_their_name(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(GOOD) + "\n")
    assert len(read(path).operations) == 3

    path.write_bytes(b"\x00" * (3 << 20))
    with pytest.raises(HistoryError, match=r"history\.jsonl:1: the line is over 1 MiB"):
        read(path)


def test_an_error_escapes_the_text_that_it_shows() -> None:
    assert "\x1b" not in str(refusal(HEADER + "\n", "\x1b[31mred\n"))


def test_an_info_may_say_which_ttl_was_asked_for() -> None:
    invoke = '{"time":1,"process":0,"type":"invoke","f":"renew","resource":"r0","owner":"a"}\n'
    info = '{"time":2,"process":0,"type":"info","f":"renew","resource":"r0","owner":"a","ttl":7}\n'

    (op,) = parse([HEADER + "\n", invoke, info]).operations

    assert (op.outcome, op.ttl) == (Outcome.INFO, 7)
