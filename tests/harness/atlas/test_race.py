"""A race: its answers, what some of them show together, and its history that the checkers judge."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.history.records import Outcome
from harness.atlas.cells import AtlasCell, Atomicity
from harness.atlas.history import write_history
from harness.atlas.race import Attempt, ConditionalRequest, Mode, Race, body_of, outcome_of, pieces_of
from harness.atlas.wire import Request
from harness.run.recheck import judge_file


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


def race(*statuses: int | None, read: int | None = None) -> Race:
    attempts = tuple(
        Attempt(client=client, method="PUT", called=0, returned=1, status=status)
        for client, status in enumerate(statuses)
    )
    seen = Attempt(client=2, method="GET", called=2, returned=3, status=read) if read else None
    return Race(key="k", attempts=attempts, read=seen)


def cell(*races: Race, operation: ConditionalRequest = ConditionalRequest.CREATE) -> AtlasCell:
    return AtlasCell(operation=operation, mode=Mode.HELD, races=races)


@pytest.mark.parametrize(
    ("statuses", "winners", "is_decided"),
    [
        ((200, 412), 1, True),
        ((412, 200, 409, 404), 1, True),
        ((200, 200), 2, True),
        ((200, 204, None), 2, True),
        ((200, None), 1, False),
        ((200, 500), 1, False),
        ((200, 403), 1, False),
        ((412, 412), 0, False),
        ((None, None), 0, False),
        ((), 0, False),
    ],
)
def test_a_race_is_decided_if_no_other_can_have_won(
    statuses: tuple[int | None, ...], winners: int, is_decided: bool
) -> None:
    assert (race(*statuses).winners, race(*statuses).is_decided) == (winners, is_decided)


@pytest.mark.parametrize(
    ("races", "verdict"),
    [
        ([race(200, 412)] * 3, Atomicity.ATOMIC),
        ([race(200, 412)] * 99 + [race(200, 200)], Atomicity.NOT_ATOMIC),
        ([race(None, 412)] * 99 + [race(200, 200)], Atomicity.NOT_ATOMIC),
        ([race(200, 412)] * 9 + [race(200, None)], Atomicity.ATOMIC),
        ([race(200, 412)] * 8 + [race(200, None)] * 2, Atomicity.UNKNOWN),
        ([race(412, 412)] * 3, Atomicity.UNKNOWN),
        ([race(503, 503)] * 3, Atomicity.UNKNOWN),
        ([race()] * 3, Atomicity.UNKNOWN),
        ([], Atomicity.UNKNOWN),
    ],
)
def test_one_race_with_two_winners_is_enough(races: list[Race], verdict: Atomicity) -> None:
    assert cell(*races).verdict is verdict


def test_an_ignored_condition_was_not_raced() -> None:
    ignored = AtlasCell(
        operation=ConditionalRequest.CREATE, is_ignored=True, reason="a second PUT was accepted"
    )

    assert ignored.verdict is Atomicity.IGNORED
    assert ignored.sentence() == "ignored: a second PUT was accepted"


@pytest.mark.parametrize(
    ("raced", "gone"),
    [
        (race(200, 204, read=404), 1),
        (race(200, 204, read=200), 0),
        (race(200, 204, read=500), 0),
        (race(404, 204, read=404), 0),
        (race(200, None, read=404), 0),
    ],
)
def test_an_object_is_lost_only_if_its_put_and_a_delete_succeeded(raced: Race, gone: int) -> None:
    assert cell(raced, operation=ConditionalRequest.DELETE).gone == gone


def test_the_smallest_race_has_the_fewest_winners() -> None:
    two, three = race(412, 200, 200), race(200, 200, 200)

    assert cell(race(200, 412, 412), three, two).smallest is two


def test_a_race_that_lost_an_object_is_shown_rather_than_another() -> None:
    lost = race(200, 204, read=404)

    assert cell(race(200, 204, read=200), lost, operation=ConditionalRequest.DELETE).smallest is lost


def test_without_two_winners_no_race_is_shown() -> None:
    assert cell(race(200, 412)).smallest is None


def test_a_cell_counts_winners_and_answers() -> None:
    counted = cell(race(200, 200, 412), race(200, None, 503), race(200, 412, 412))

    assert counted.document() == {
        "operation": "create",
        "mode": "held",
        "verdict": "not atomic",
        "keys": 3,
        "keys_with_two_winners": 1,
        "most_winners": 2,
        "undecided": 1,
        "acknowledged_and_gone": 0,
        "answers": {"200": 4, "412": 3, "503": 1, "no answer": 1},
        "reason": "",
    }
    assert counted.sentence() == (
        "not atomic: 1 of 3 keys had more than one winner, up to 2; 1 had none, or too few answers to know"
        " (200 ×4, 412 ×3, 503 ×1, no answer ×1)"
    )


PUT_AND_DELETE = ("PUT", "DELETE")


def raced(statuses: tuple[int | None, ...], methods: tuple[str, ...] = (), read: int | None = None) -> Race:
    attempts = tuple(
        Attempt(
            client=client,
            method=(methods or ("PUT",) * len(statuses))[client],
            called=7_000,
            returned=9_000 + client,
            status=status,
        )
        for client, status in enumerate(statuses)
    )
    seen = Attempt(client=2, method="GET", called=20_000, returned=21_000, status=read) if read else None
    return Race(key="prefix/create-held-7", attempts=attempts, read=seen)


def judged(folder: Path, operation: ConditionalRequest, raced: Race) -> Any:
    return judge_file(write_history(folder / "cell", operation, raced))


@pytest.mark.parametrize("operation", [ConditionalRequest.CREATE, ConditionalRequest.REPLACE])
def test_two_winners_have_the_same_token(tmp_path: Path, operation: ConditionalRequest) -> None:
    verdict = judged(tmp_path, operation, raced((412, 200, None, 200))).verdict

    assert [each.anomaly for each in verdict.findings] == ["duplicate-token"]


@pytest.mark.parametrize("read", [200, 404])
def test_a_put_and_a_delete_of_one_version_are_a_stale_write(tmp_path: Path, read: int) -> None:
    verdict = judged(tmp_path, ConditionalRequest.DELETE, raced((200, 204), PUT_AND_DELETE, read)).verdict

    assert [each.anomaly for each in verdict.findings] == ["stale-write"]


@pytest.mark.parametrize(
    ("operation", "raced"),
    [
        (ConditionalRequest.CREATE, raced((412, 200, 409))),
        (ConditionalRequest.CREATE, raced((200, None, 503))),
        (ConditionalRequest.REPLACE, raced((404, 200))),
        (ConditionalRequest.DELETE, raced((200, 412), PUT_AND_DELETE, 200)),
        (ConditionalRequest.DELETE, raced((404, 204), PUT_AND_DELETE, 404)),
        (ConditionalRequest.DELETE, raced((200, None), PUT_AND_DELETE, 200)),
    ],
)
def test_one_winner_is_no_finding(tmp_path: Path, operation: ConditionalRequest, raced: Race) -> None:
    assert judged(tmp_path, operation, raced).verdict.findings == ()


def test_the_history_of_a_double_win_has_its_first_two_winners(tmp_path: Path) -> None:
    history = judged(tmp_path, ConditionalRequest.REPLACE, raced((200, 412, 200, None, 200))).history

    assert [(op.process, op.outcome, op.token) for op in history.operations] == [(0, "ok", 2), (2, "ok", 2)]


def test_the_history_has_every_request_and_its_own_key(tmp_path: Path) -> None:
    history = judged(tmp_path, ConditionalRequest.CREATE, raced((200, 412, None))).history

    assert [(op.process, op.outcome, op.token, op.error) for op in history.operations] == [
        (0, "ok", 1, None),
        (1, "fail", None, "answered 412"),
        (2, "info", None, "no answer"),
    ]
    assert {op.resource for op in history.operations} == {"create-held-7"}
    assert history.operations[0].called == 0
