"""How lost updates are explained."""

from __future__ import annotations

import json

from checkers.history.reader import parse
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding
from tests.support.literal_histories import judged
from tests.support.repository import HISTORIES


def only(name: str, anomaly: str) -> Finding:
    (finding,) = (each for each in judged(name).findings if each.anomaly == anomaly)
    assert not finding.account.doubt
    return finding


def test_a_lost_element_is_explained_by_who_read_a_list_without_it() -> None:
    finding = only("lost-update/an-old-list-was-read", "lost-update")

    assert finding.summary == (
        "the element '0-1', which process 0 had appended to r0, was lost:"
        " it is missing from the list that process 1 read afterwards"
    )
    assert finding.steps == (
        (
            "Process 0 appended '0-1' with token 33 at 0.200 s (line 4),"
            " and the storage said ok at 0.300 s (line 5)."
        ),
        "After that, process 1 read the list in order to append to it at 0.800 s (line 10).",
        "An empty list came back at 0.900 s (line 11), without it.",
        "An element that was appended under the lock must stay, but '0-1' was not there.",
    )
    assert finding.operations == (4, 5, 10, 11)


def test_a_lost_element_is_explained_by_who_wrote_the_list_without_it() -> None:
    finding = only("lost-update/left-out", "lost-update")

    assert finding.steps[-2:] == (
        (
            "That list was written by process 1, which appended '1-1' to it with token 34 at 0.800 s (line 10),"
            " and left '0-1' out although it had read it."
        ),
        "An element that was appended under the lock must stay, but '0-1' was not there.",
    )


def test_the_storages_own_order_shows_who_wrote_without_the_element() -> None:
    finding = only("lost-update/committed", "lost-update")

    assert finding.summary == (
        "the element '0-1', which process 0 had appended to r0, was lost: process 1 wrote a list without it"
    )
    assert finding.steps[-1] == "The list before it has '0-1'; this one does not."


def test_two_appends_to_one_list_are_explained_as_such() -> None:
    finding = only("lost-update/though-holders-fence", "lost-update")

    assert finding.summary == (
        "process 0 and process 1 both appended to the same list of r0: '0-1' or '1-1' was lost"
    )
    assert (
        finding.steps[0] == "Process 0 was paused 0.300–2.650 s (lines 4 and 8); its lease ended at 2.000 s."
    )
    assert finding.steps[1] == (
        "Process 0, whose append was called at 2.700 s (line 9), read an empty list"
        " and wrote it back with '0-1', acknowledged at 2.800 s (line 10)."
    )
    assert finding.steps[-1] == (
        "No late write excuses this: in this run a new holder fences before it reads (fence_on_acquire in line"
        " 1), so once process 1 had read with token 34, nothing with the older token 33 could still be written."
    )


def found(*events: tuple[int, int, str, str, dict[str, object]]) -> Finding:
    """The lost update that is found: of each event the time, the process, the type, the operation and more."""
    header = {"fencepost": 1, "target": "t", "policy": "inclusive", "fence_on_acquire": True}
    lines = [
        {"time": time, "process": process, "type": kind, "f": f, "resource": "r0", **fields}
        for time, process, kind, f, fields in events
    ]
    verdict = judge(parse(json.dumps(line) + "\n" for line in [header, *lines]))
    (finding,) = (each for each in verdict.findings if each.anomaly == "lost-update")
    return finding


def test_an_append_that_does_not_say_so_had_read_all_but_its_element() -> None:
    finding = found(
        (1, 0, "invoke", "append", {"token": 5, "element": "a"}),
        (2, 0, "info", "append", {"token": 5, "element": "a"}),
        (2, 2, "invoke", "append", {"token": 6, "element": "b"}),
        (3, 1, "invoke", "read", {}),
        (4, 1, "ok", "read", {"token": 5, "value": ["x", "y", "a"]}),
        (6, 2, "ok", "append", {"token": 6, "element": "b", "read": ["x", "y"], "written": ["x", "y", "b"]}),
    )

    assert finding.steps[0].endswith(", read a list of 2 elements and wrote it back with 'a'.")


def test_a_finding_that_follows_from_a_stale_write_names_it() -> None:
    finding = only("lost-update/after-a-stale-write", "lost-update")

    assert finding.caused_by is not None
    assert finding.caused_by.anomaly == "stale-write"


def test_without_an_answer_it_is_not_known_which_list_an_append_had_read() -> None:
    lines = (HISTORIES / "lost-update/of-a-list-read-too-early.jsonl").read_text().splitlines()
    answered = next(line for line in lines if '"type":"ok"' in line and '"element":"1-1"' in line)
    unanswered = json.loads(answered) | {"type": "info", "error": "timed out"}
    del unanswered["read"], unanswered["written"]

    history = parse([json.dumps(unanswered) if line == answered else line for line in lines])

    (finding,) = judge(history).findings
    assert "and it is not known which list it had read." in finding.steps[3]
