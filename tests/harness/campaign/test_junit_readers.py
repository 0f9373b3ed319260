"""junit.xml of a night as its readers see it: junitparser, and Ant's and Jenkins' schemas."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest
import xmlschema

from harness.campaign.assessment import assess
from harness.campaign.campaign_file import Quarantine
from harness.campaign.fingerprint import fingerprint
from harness.campaign.junit import junit
from harness.campaign.night import Night
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict
from tests.support.junit_readers import properties, results, validated

STALE = verdict("Client 0 wrote '<b>]]>&\x00\x1b\ufffe' too late")
RUNS = (
    finished(job("passes")),
    finished(job("fails"), 1, STALE),
    finished(job("unknown"), 2),
    finished(job("broken"), 3, message="etcd-1 did not get healthy"),
    finished(job("known"), 1, STALE),
)
KNOWN = Quarantine(fingerprint=fingerprint("known", STALE), reason="issue 7", until=dt.date(2099, 1, 1))


@pytest.fixture
def written(tmp_path: Path) -> str:
    made = plan(*(run.job for run in RUNS), job("late"))
    night = assess(made, RUNS, before={}, quarantine=(KNOWN,), today=TODAY)
    return junit(Night(tmp_path, made), night, allow_unknown=False)


def test_every_result_is_read_as_what_it_is(written: str) -> None:
    suites = validated(written)

    assert results(suites) == {
        "passes": [],
        "fails": ["Failure"],
        "unknown": ["Error"],
        "broken": ["Error"],
        "known": ["Skipped"],
        "late": ["Skipped"],
    }
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == (6, 1, 2, 2)


def test_a_suite_says_what_was_run(written: str) -> None:
    suites = validated(written)

    assert re.findall(r' id="(\d)"', written) == list("012345")
    suite = next(iter(suites))
    assert properties(suite) == {
        "lock": "etcd",
        "storage": "postgres:none",
        "faults": "pause",
        "status": "passing",
        "engine": "local",
        "fencepost": "0.1.0",
        "seed of run 1": "7",
    }
    assert suite.hostname
    assert suite.timestamp == "2026-11-22T03:00:00"


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (' tests="1"', "", "attribute 'tests'"),
        (' hostname="', ' host="', "attribute 'hostname'"),
        ("<testsuites>", '<testsuites name="nightly">', "'name' attribute not allowed"),
        ("<system-err />", "", "not complete"),
        ("03:00:00", "03:00:00+00:00", "timestamp"),
    ],
)
def test_documents_that_ant_does_not_allow_are_refused(written: str, one: str, other: str, why: str) -> None:
    assert one in written
    with pytest.raises(xmlschema.XMLSchemaValidationError, match=why):
        validated(written.replace(one, other, 1))
