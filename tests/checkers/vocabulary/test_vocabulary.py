"""Kinds of faults that the checkers do not know, and the names of hazards."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.hazards import CELLS, PLACE, Cell, End, Fate, Hit, Point, summary
from checkers.vocabulary.verdict import Verdict
from tests.support.events import recorded

THROTTLE = {
    "lasting": "was throttled",
    "now": "is throttled",
    "afterwards": "has its whole share again",
    "short": "throttled",
    "count": "throttles",
}


def write(time: int, process: int, type_: str, token: int) -> dict[str, Any]:
    line = {"time": time, "process": process, "type": type_, "f": "write", "resource": "r0"}
    return line | {"token": token, "value": f"by {process}"}


def fault(time: int, state: str, kind: str = "throttle") -> dict[str, Any]:
    value = {"target": "client:0", "state": state}
    return {"time": time, "process": "nemesis", "type": "info", "f": kind, "value": value}


STALE_WRITE = [
    write(1, 1, "invoke", 2),
    write(2, 1, "ok", 2),
    write(4, 0, "invoke", 1),
    write(6, 0, "ok", 1),
]
GRANT = {"time": 0, "process": 0, "f": "acquire", "resource": "r0", "owner": "0-1"}
THROTTLED = [
    GRANT | {"type": "invoke"},
    GRANT | {"type": "ok", "token": 1, "ttl": 3},
    fault(0, "in force"),
    *STALE_WRITE[:3],
    fault(5, "healed"),
    *STALE_WRITE[3:],
]


def verdict(lines: list[dict[str, Any]], **header: Any) -> Verdict:
    return judge(recorded(*lines, **({"expect": ["stale-write"], "clients": 2} | header)))


def test_a_fault_is_described_in_the_words_of_its_history() -> None:
    (finding,) = verdict(THROTTLED, faults={"throttle": THROTTLE}).findings

    assert any(step.startswith("Client 0 was throttled 0–5 ns") for step in finding.steps)


def test_a_fault_without_words_is_named_by_its_kind() -> None:
    (finding,) = verdict(THROTTLED).findings

    assert any(step.startswith("Client 0 was hit by throttle 0–5 ns") for step in finding.steps)


def test_a_fault_counts_under_the_name_in_its_history() -> None:
    assert verdict(THROTTLED, faults={"throttle": THROTTLE}).coverage["throttles"] == 1


def test_a_fault_that_is_not_seen_healed_does_not_count() -> None:
    lines = [line for line in THROTTLED if line != fault(5, "healed")]

    assert verdict(lines, faults={"throttle": THROTTLE}).coverage["throttles"] == 0


def test_without_a_name_for_it_there_is_no_count() -> None:
    assert "throttles" not in verdict(THROTTLED).coverage


def test_a_count_of_the_header_may_be_required() -> None:
    read = {"time": 1, "process": 0, "f": "read", "resource": "r0"}
    lines = [read | {"type": "invoke"}, read | {"time": 2, "type": "ok", "value": None, "token": 0}]

    reasons = verdict(lines, faults={"throttle": THROTTLE}, require={"throttles": 1}).reasons

    assert (
        "not tested: no throttles were observed from beginning to end: run longer, or with faults" in reasons
    )


def test_a_count_that_no_fault_has_is_refused() -> None:
    with pytest.raises(HistoryError, match="no count 'throttle'; did you mean 'throttles'"):
        verdict(THROTTLED, faults={"throttle": THROTTLE}, require={"throttle": 1})


@pytest.mark.parametrize("faults", [{"pause": THROTTLE}, {"throttle": THROTTLE | {"count": "grants"}}])
def test_a_history_cannot_give_a_known_name_another_meaning(faults: Any) -> None:
    with pytest.raises(HistoryError, match="has another meaning already"):
        verdict(THROTTLED, faults=faults)


@pytest.mark.parametrize("kind", ["", "Throttle", "a throttle", "t" * 33])
def test_the_name_of_a_kind_is_a_short_word(kind: str) -> None:
    with pytest.raises(HistoryError):
        verdict([fault(0, "in force", kind), *STALE_WRITE])


def test_every_cell_is_read_from_its_name() -> None:
    assert [Cell.named(str(cell)) for cell in CELLS] == list(CELLS)
    assert len({str(cell) for cell in CELLS}) == len(CELLS) == len(PLACE) == 6 * 4 * 4 * 3 - 24


def test_a_short_name_is_of_a_holder_whose_messages_are_delivered() -> None:
    cell = Cell(Point.WRITE_SENT, End.SUPERSEDED, Hit.HOLDER, Fate.DELIVERED)

    assert Cell.named("write-sent/superseded") == Cell.named("write-sent/superseded/holder") == cell
    assert str(cell) == "write-sent/superseded/holder"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "is no hazard: one looks like write-sent/superseded/holder"),
        ("write-sent", "is no hazard"),
        ("write-sent/superseded/holder/lost/x", "is no hazard"),
        ("writesent/superseded", "'writesent' is no part of a hazard; did you mean write-sent?"),
        ("write-sent/over", "'over' is no part of a hazard; known are before-expiry, expired,"),
        ("renewing/before-expiry/holder/delayed", "delayed means past the end of the lease"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_wrong(name: str, said: str) -> None:
    with pytest.raises(ValueError, match="hazard") as refused:
        Cell.named(name)

    assert said in str(refused.value)


def test_a_summary_names_the_first_missed_ones() -> None:
    names = [str(cell) for cell in CELLS[:5]]

    assert summary(24, [], 0) == "24 of 24 dangerous moments tried"
    assert summary(24, names[:1], 0) == f"23 of 24 dangerous moments tried, but not {names[0]}"
    assert (
        summary(24, names, 0)
        == f"19 of 24 dangerous moments tried, but not {', '.join(names[:3])} and 2 more"
    )


def test_a_summary_says_how_to_try_what_the_faults_leave_out() -> None:
    (name,) = [str(cell) for cell in CELLS[:1]]
    the_rest = 'hazards = "all" tries the rest'

    assert summary(1, [], 23) == f"1 of 24 dangerous moments tried; {the_rest}"
    assert summary(2, [name], 22) == f"1 of 24 dangerous moments tried, but not {name}; {the_rest}"
