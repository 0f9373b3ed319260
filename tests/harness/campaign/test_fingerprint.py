"""Fingerprints: the same for one bug, others for others, and no two bugs of the zoo share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.fingerprint import fingerprint, is_of_older_form
from harness.cli.zoo_exhibits import exhibits
from harness.report.first_finding import first_causes
from harness.run.recheck import judge_file
from tests.support.campaign_runs import verdict
from tests.support.recorded_runs import RECORDINGS, unpack

STALE = verdict("Client 0 wrote '0-1.0' with token 3 to r0 after the storage had accepted token 7")
NOT_FOUND = verdict(expected=["stale-write"], verdict="valid")


def test_wording_does_not_change_a_fingerprint() -> None:
    assert fingerprint("a", STALE) == fingerprint("a", verdict("An outdated write was accepted"))


def test_other_faults_at_the_same_time_do_not_change_a_fingerprint() -> None:
    alone, more = verdict("one", fault="delay"), verdict("one", fault="delay", faults=["delay", "partition"])

    assert fingerprint("a", alone) == fingerprint("a", more)


def test_number_and_order_of_findings_do_not_change_a_fingerprint() -> None:
    other = verdict("below", rule="below-the-start")["findings"]
    both = [*STALE["findings"], *other]

    assert fingerprint("a", STALE | {"findings": both}) == fingerprint("a", STALE | {"findings": both[::-1]})
    assert fingerprint("a", STALE | {"findings": both[:1] * 3}) == fingerprint("a", STALE)


@pytest.mark.parametrize(
    ("cell", "document"),
    [
        ("b", STALE),
        ("a", verdict("one", rule="below-the-start")),
        ("a", verdict("one", anomaly="stale-read")),
        ("a", verdict("one", roles=["write", "newer fence"])),
        ("a", verdict("one", fault="pause")),
        ("a", NOT_FOUND),
    ],
)
def test_another_cell_or_shape_is_another_failure(cell: str, document: dict[str, object]) -> None:
    assert fingerprint(cell, document) != fingerprint("a", STALE)


def test_a_bug_that_was_not_found_has_a_fingerprint_too() -> None:
    assert fingerprint("a", NOT_FOUND) != fingerprint("a", NOT_FOUND | {"expected": ["lost-update"]})


def test_what_follows_from_another_finding_makes_no_difference() -> None:
    lost = verdict("lost", anomaly="lost-write", rule="gone-from-log", accused=[2, 3])
    stale = verdict("stale", accused=[4, 5], against=[2, 3])
    both = [*stale["findings"], *lost["findings"]]

    assert fingerprint("a", lost | {"findings": both}) == fingerprint("a", lost)


def test_findings_that_rest_on_each_other_all_count() -> None:
    one = verdict("one", accused=[2, 3], against=[4, 5])
    other = verdict("other", anomaly="stale-read", accused=[4, 5], against=[2, 3])
    both = [*other["findings"], *one["findings"]]

    assert fingerprint("a", one | {"findings": both}) == fingerprint("a", one)


@pytest.mark.parametrize(
    ("known", "is_older"),
    [("9a1c0f63b2de", True), ("1-9a1c0f63b2de", True), (fingerprint("a", STALE), False)],
)
def test_a_fingerprint_says_of_which_form_it_is(known: str, is_older: bool) -> None:
    assert is_of_older_form(known) is is_older


PLANTED = {each.name: each.bug.expected for each in exhibits()}

SEVERAL = {
    "clock-an-hour-ahead": 2,  # early-grant, by its times and by its tokens
    "code-path-without-the-token": 2,  # stale-write, unfenced-write
    "redlock-one-clock-jumped": 2,  # early-grant, while the clock jumped and later
    "replica-promoted-with-link-held": 2,  # duplicate-token, early-grant
}
"""How many shapes the findings of one run have that follow from no other one, where it is not one."""

ONLY_COUNTED = {"append-without-fence-on-acquire"}
"""Its anomaly makes no run invalid, so a failing run of it has no finding."""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    """The verdict on the recorded run of each planted bug."""
    return {name: _verdict(unpack(name, tmp_path_factory.mktemp(name))) for name in _recorded_bugs()}


def _recorded_bugs() -> Iterator[str]:
    for twin in sorted(RECORDINGS.glob("*-twin.tar.xz")):
        yield twin.name.removesuffix("-twin.tar.xz")


def _verdict(folder: Path) -> dict[str, Any]:
    commits = folder / "commits.jsonl"
    judged = judge_file(folder / "history.jsonl", commits if commits.exists() else None, same_run=True)
    return judged.document.as_dict()


@pytest.mark.slow
def test_the_first_finding_of_a_run_is_of_its_planted_bug(verdicts: Mapping[str, dict[str, Any]]) -> None:
    leading = {
        name: (first_causes(verdict["findings"])[0]["anomaly"],)
        for name, verdict in verdicts.items()
        if verdict["findings"]
    }

    assert leading == {name: expected for name, expected in PLANTED.items() if name not in ONLY_COUNTED}
    assert set(verdicts) == set(PLANTED)


def test_no_two_planted_bugs_share_a_fingerprint(verdicts: Mapping[str, dict[str, Any]]) -> None:
    found = {name: fingerprint(name, verdict) for name, verdict in verdicts.items()}

    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize("name", sorted(PLANTED.keys() - ONLY_COUNTED))
def test_a_bug_is_split_in_two_at_most(verdicts: Mapping[str, dict[str, Any]], name: str) -> None:
    """Each finding that follows from no other one could be all that another seed shows."""
    verdict = verdicts[name]

    alone = {fingerprint(name, verdict | {"findings": [each]}) for each in first_causes(verdict["findings"])}

    assert len(alone) == SEVERAL.get(name, 1) <= 2
    assert fingerprint(name, verdict) in alone
