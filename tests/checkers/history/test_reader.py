"""Reading histories: what cannot have been recorded is refused with file, line and value."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers import HistoryError, Outcome, judge, merge, parse, read, read_commits
from tests.support.events import (
    ACQUIRE,
    ACQUIRED,
    APPEND,
    APPENDED,
    BYTES,
    GOOD,
    HEADER,
    HOSTILE,
    PAUSED,
    READ,
    WAS_READ,
    WRITE,
    WRITTEN,
)


def changed(line: str, **fields: object) -> str:
    return json.dumps(json.loads(line) | fields)


def without(line: str, name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(line).items() if key != name})


def refusal(*lines: str | bytes) -> HistoryError:
    with pytest.raises(HistoryError) as refused:
        parse(lines, name="h.jsonl")
    return refused.value


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


def test_a_write_may_carry_no_token_and_a_read_may_tell_none() -> None:
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

    told = [parse([HEADER, APPEND, end]).operations[0] for end in (knows_all, knows_one, knows_none)]

    assert [(op.seen, op.value) for op in told] == [(("x",), ("x", "e")), (("x",), None), (None, None)]
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
    told = parse([changed(HEADER, grace=5, fence_on_acquire=True, initial={"value": [1, "x"]})]).header

    assert (plain.grace, plain.fence_on_acquire) == (10_000_000_000, False)
    assert (told.grace, told.fence_on_acquire, told.initial_value) == (5, True, (1, "x"))


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
        (
            [HEADER, WRITE, WRITTEN, changed(WRITE, time=41)],
            4,
            "value 'a' is also written at line 2",
        ),
        ([HEADER, changed(WRITE, value=None)], 2, "value null is the one that stood there"),
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
        (
            [changed(HEADER, initial={"value": ["e"], "token": 0}), APPEND],
            2,
            "value 'e' is the one that stood there before the run",
        ),
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
        ([HEADER, changed(WRITE, type="maybe")], 2, "Invalid enum value 'maybe'"),
        ([HEADER, changed(PAUSED, f="earthquake")], 2, "earthquake"),
        ([HEADER, changed(PAUSED, value={"target": "x", "state": "?"})], 2, "$.value.state"),
        ([HEADER, "[]"], 2, "Expected `object`"),
        ([HEADER, changed(WRITE, token=2**63)], 2, "token is too large: at most 9223372036854775807"),
        ([HEADER, changed(WRITE, token=-1)], 2, "token is too small: at least 0"),
        ([HEADER, "\n", WRITE], 2, "truncated"),
        ([HEADER, "{]\n", WRITE], 2, "malformed"),
        ([HEADER, '{"x":' + "[" * 100_000 + "\n", WRITE], 2, ""),
        ([HEADER, changed(WRITE, value="x" * (1 << 20))], 2, "the line is over 1 MiB"),
        ([HEADER, b'{"time":"\xff"}\n', WRITE], 2, "not UTF-8"),
        ([HEADER, '{"time":"\ud800"}\n', WRITE], 2, "not UTF-8"),
    ],
)
def test_what_cannot_have_been_recorded_is_refused(lines: list[Any], line: int, says: str) -> None:
    error = refusal(*lines)

    assert (error.file, error.line) == ("h.jsonl", line)
    assert says in str(error)
    assert str(error).startswith(f"h.jsonl:{line}: ")
    assert len(str(error)) < 600


@pytest.mark.parametrize("kept", [1, 20, len(WRITTEN) - 1])
def test_a_half_written_last_line_is_cut_off_with_a_notice(kept: int) -> None:
    history = parse([HEADER, WRITE, WRITTEN[:kept]], name="h.jsonl")

    assert history.operations[0].learned is None
    assert history.notices == ("h.jsonl:3: the last line is only half written and was left out",)


def test_a_last_line_that_was_cut_within_a_character_is_cut_off_too() -> None:
    cut = changed(WRITE, value="é").encode().decode("unicode_escape").encode()[:-3]

    assert parse([HEADER, cut]).notices


def test_a_whole_line_that_only_lacks_its_newline_counts() -> None:
    assert parse([HEADER, WRITE, WRITTEN]).operations[0].outcome is Outcome.OK


def test_a_broken_last_line_with_its_newline_is_an_error() -> None:
    assert refusal(HEADER, WRITE, WRITTEN[:20] + "\n").line == 3


def test_a_complete_last_line_of_another_type_is_an_error() -> None:
    assert refusal(HEADER, "17").line == 2


def test_a_half_written_header_is_no_history() -> None:
    assert "the header is only half written" in str(refusal(HEADER[:9]))


def test_files_are_read_with_their_name(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("\n".join(GOOD) + "\n")
    assert len(read(path).operations) == 3

    path.write_bytes(b"\x00" * (3 << 20))
    with pytest.raises(HistoryError, match=r"history\.jsonl:1: the line is over 1 MiB"):
        read(path)


def test_commits_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text(
        '{"seq":1,"resource":"r0","token":3,"value":"a"}\n'
        '{"seq":1,"resource":"r1","token":3,"value":"b"}\n'
        '{"seq":9,"resource":"r0","token":4,"value":7}\n'
    )

    commits = read_commits(path)

    assert [(each.seq, each.resource, each.token, each.value) for each in commits] == [
        (1, "r0", 3, "a"),
        (1, "r1", 3, "b"),
        (9, "r0", 4, 7),
    ]
    assert commits[2].line == 3


def test_fences_are_read_in_their_order_among_the_commits(tmp_path: Path) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text(
        '{"seq":1,"resource":"r0","token":3,"value":null}\n'
        '{"seq":2,"resource":"r0","token":4,"fence":true}\n'
        '{"seq":3,"resource":"r0","token":5,"value":"a","fence":false}\n'
    )

    commits = read_commits(path)

    assert [(each.token, each.value, each.fence) for each in commits] == [
        (3, None, False),
        (4, None, True),
        (5, "a", False),
    ]


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ('{"seq":2,"resource":"r0","fence":true}\n', "a fence needs a `token`"),
        ('{"seq":2,"resource":"r0","token":3,"value":"b","fence":true}\n', "a fence stores no value"),
        ('{"seq":2,"resource":"r0","token":3,"value":"b","fence":1}\n', "Expected `bool`"),
        ('{"seq":1,"resource":"r0","token":3,"value":"b"}\n', "seq 1 does not come after 1"),
        ('{"seq":2,"resource":"r0","token":3}\n', "missing required field `value`"),
        ('{"seq":2,"resource":"r0","tok', "only half written"),
    ],
)
def test_a_wrong_commit_is_refused(tmp_path: Path, second: str, says: str) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text('{"seq":1,"resource":"r0","token":3,"value":"a"}\n' + second)

    with pytest.raises(HistoryError, match=says) as refused:
        read_commits(path)

    assert refused.value.line == 2


@pytest.mark.parametrize(
    ("commit", "says"),
    [
        ('{"seq":1,"resource":"r0","token":33,"value":"zz"}\n', "value 'zz' was committed, but"),
        ('{"seq":1,"resource":"r1","token":33,"value":"a"}\n', "wrote it to r0 with token 33"),
        ('{"seq":1,"resource":"r0","token":34,"value":"a"}\n', "wrote it to r0 with token 33"),
    ],
)
def test_a_commit_that_the_history_does_not_know_is_refused(tmp_path: Path, commit: str, says: str) -> None:
    path = tmp_path / "commits.jsonl"
    path.write_text(commit)

    with pytest.raises(HistoryError, match=says) as refused:
        judge(parse(GOOD), read_commits(path))

    assert (refused.value.file, refused.value.line) == (str(path), 1)


def test_parts_are_merged_by_time_and_a_half_written_end_is_told(tmp_path: Path) -> None:
    one, two = tmp_path / "client-0.jsonl", tmp_path / "client-1.jsonl"
    other = changed(WRITE, process=1, time=30, value="b")
    renew = '{"time":35,"process":7,"type":"invoke","f":"renew","resource":"r0","owner":"0-1"}'
    mine = (ACQUIRE, ACQUIRED, WRITE, WRITTEN, renew, READ, WAS_READ)
    one.write_text("\n".join(mine) + "\n")
    two.write_text(other + "\n" + WAS_READ[:30])
    notices: list[str] = []

    lines = merge([one, two], notices.append)

    times = [json.loads(line)["time"] for line in lines]
    assert times == sorted(times)
    assert [json.loads(line)["process"] for line in lines if json.loads(line)["time"] == 30] == [0, 1]
    assert notices == [f"{two}:2: the last line is only half written and was left out"]
    assert len(parse([HEADER, *lines]).operations) == 5


def test_events_of_one_process_at_one_time_keep_their_order(tmp_path: Path) -> None:
    part = tmp_path / "client-0.jsonl"
    events = [changed(line, time=10) for line in (ACQUIRE, changed(ACQUIRED, attempt=10), WRITE)]
    part.write_text("\n".join([*events, changed(WRITTEN, time=10)]) + "\n")

    assert [json.loads(line)["type"] for line in merge([part])] == ["invoke", "ok", "invoke", "ok"]


def test_time_that_runs_backwards_within_a_process_is_refused_when_merging(tmp_path: Path) -> None:
    part = tmp_path / "client-0.jsonl"
    part.write_text(WRITE + "\n" + changed(WRITTEN, time=29) + "\n")

    with pytest.raises(HistoryError, match="time runs backwards in process 0, from 30 to 29"):
        merge([part])


OF_LISTS = (HEADER, APPEND, APPENDED, changed(READ, time=50), changed(WAS_READ, value=["x", "e"]))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_mutation_of_a_history_is_read_or_refused(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from([BYTES, "\n".join(OF_LISTS).encode() + b"\n"])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        upto = data.draw(st.integers(at, min(len(text), at + 40)))
        text[at:upto] = data.draw(st.sampled_from(HOSTILE) | st.binary(max_size=4))
    _read_or_refuse(bytes(text).splitlines(keepends=True))


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_shuffle_or_change_of_fields_is_read_or_refused(rng: random.Random) -> None:
    lines = [json.loads(line) for line in rng.choice([GOOD, OF_LISTS])]
    for _ in range(rng.randint(1, 3)):
        line = rng.choice(lines)
        name = rng.choice(list(line) or ["time"])
        line[name] = rng.choice([None, 0, -1, 2**70, 1.5, True, "r0", "nemesis", "ok", [], ["e"], {}, 33])
    if rng.random() < 0.5:
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    if rng.random() < 0.3:
        del lines[rng.randrange(len(lines))]
    _read_or_refuse([json.dumps(line) + "\n" for line in lines])


@given(st.lists(st.binary(max_size=60) | st.text(max_size=60), max_size=5))
@example(lines=[HEADER, '{"process":"nemesis"'])
@example(lines=[HEADER + "\n", b'{"process":"nemesis","time":' + b"[" * 5000])
def test_rubbish_is_refused(lines: list[Any]) -> None:
    _read_or_refuse(lines)


def _read_or_refuse(lines: list[Any]) -> None:
    try:
        history = parse(lines)
    except HistoryError:
        return
    assert not [reason for reason in judge(history).reasons if "crash" in reason]


def test_a_long_history_cut_anywhere_can_be_judged() -> None:
    lines = [line + "\n" for line in GOOD]
    whole = "".join(lines).encode()
    rng = random.Random(1)
    for _ in range(200):
        cut = whole[: rng.randint(len(HEADER) + 1, len(whole))]
        judge(parse(cut.splitlines(keepends=True)))


@pytest.mark.parametrize("end", ["},", '}{"time":9}', '},"x":NaN}', "}\x00"])
def test_a_last_line_that_is_wrong_in_itself_is_not_taken_for_half_written(end: str) -> None:
    whole = '{"time":2,"process":0,"type":"ok","f":"read","resource":"r0","value":null,"token":0'

    assert "h.jsonl:2" in str(refusal(HEADER + "\n", whole + end))


def test_what_an_error_shows_cannot_reach_the_terminal_raw() -> None:
    assert "\x1b" not in str(refusal(HEADER + "\n", "\x1b[31mred\n"))


def test_an_info_may_say_which_ttl_was_asked_for() -> None:
    invoke = '{"time":1,"process":0,"type":"invoke","f":"renew","resource":"r0","owner":"a"}\n'
    info = '{"time":2,"process":0,"type":"info","f":"renew","resource":"r0","owner":"a","ttl":7}\n'

    (op,) = parse([HEADER + "\n", invoke, info]).operations

    assert (op.outcome, op.ttl) == (Outcome.INFO, 7)
