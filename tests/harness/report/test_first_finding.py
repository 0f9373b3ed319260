"""The fingerprint of a failure: the same for the same bug, whatever the words and the numbers."""

import pytest

from harness.report.first_finding import fingerprint, is_of_older_form
from tests.support.campaign_runs import verdict

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
