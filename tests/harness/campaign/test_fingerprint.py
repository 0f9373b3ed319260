"""Fingerprints: the same for one bug, others for others."""

from __future__ import annotations

import pytest

from harness.campaign.fingerprint import fingerprint
from tests.support.campaign_runs import verdict

STALE = (
    "Client 0 wrote '0-1.0' with token 3 to r0 after the storage had accepted '2-1.0' with the newer token 7"
)
AGAIN = "Client 4 wrote '4-12.1' with token 1,205 to r0 after the storage had accepted '3-9' with the newer token 9"
OTHER = "Client 0 wrote '0-1.0' with token 3 to r0, whose token was 5 before the run"


def test_values_numbers_and_clients_make_no_difference() -> None:
    assert fingerprint("a", verdict(STALE)) == fingerprint("a", verdict(AGAIN))


def test_neither_does_the_number_or_order_of_findings() -> None:
    assert fingerprint("a", verdict(STALE, OTHER)) == fingerprint("a", verdict(OTHER, AGAIN, STALE))


@pytest.mark.parametrize(
    ("cell", "document"),
    [
        ("b", verdict(STALE)),
        ("a", verdict(OTHER)),
        ("a", verdict(STALE, anomaly="stale-read")),
        ("a", verdict() | {"reasons": ["expected stale-write was not found"]}),
    ],
)
def test_another_cell_sentence_or_anomaly_is_another_failure(cell: str, document: dict[str, object]) -> None:
    assert fingerprint(cell, document) != fingerprint("a", verdict(STALE))
