"""Fingerprints: the same for one bug, others for others."""

from __future__ import annotations

import pytest

from harness.campaign.fingerprint import fingerprint
from tests.support.campaign_runs import verdict

STALE = verdict("Client 0 wrote '0-1.0' with token 3 to r0 after the storage had accepted token 7")
NOT_FOUND = verdict(expected=["stale-write"], verdict="valid")


def test_wording_does_not_change_a_fingerprint() -> None:
    assert fingerprint("a", STALE) == fingerprint("a", verdict("An outdated write was accepted"))


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
        ("a", NOT_FOUND),
    ],
)
def test_another_cell_rule_or_anomaly_is_another_failure(cell: str, document: dict[str, object]) -> None:
    assert fingerprint(cell, document) != fingerprint("a", STALE)


def test_a_bug_that_was_not_found_has_a_fingerprint_too() -> None:
    assert fingerprint("a", NOT_FOUND) != fingerprint("a", NOT_FOUND | {"expected": ["lost-update"]})
