"""Fingerprints over the recorded runs of the zoo: one for each planted bug, and no two bugs share one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.fingerprint import fingerprint
from harness.cli.zoo_exhibits import exhibits
from harness.report.first_finding import first_causes
from harness.run.recheck import judge_file
from tests.support.recorded_runs import RECORDINGS, unpack

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
