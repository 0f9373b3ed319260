"""junit.xml as its readers see it: junitparser, and Ant's and Jenkins' schema."""

from __future__ import annotations

from pathlib import Path

import junitparser
import pytest
import xmlschema

from harness.campaign.assessment import assess
from harness.campaign.junit import junit
from harness.campaign.night import Night
from tests.support.campaign_runs import TODAY, finished, job, plan, verdict

SCHEMA = Path(__file__).with_name("junit.xsd")
RUNS = (
    finished(job("passes")),
    finished(job("fails"), 1, verdict("Client 0 wrote '<b>]]>&\x00\x1b\ufffe' too late")),
    finished(job("unknown"), 2),
    finished(job("broken"), 3, message="etcd-1 did not get healthy"),
)


@pytest.fixture
def written(tmp_path: Path) -> str:
    made = plan(*(run.job for run in RUNS), job("late"))
    night = assess(made, RUNS, before={}, quarantine=(), today=TODAY)
    return junit(Night(tmp_path, made), night, allow_unknown=False)


def test_it_is_valid_by_the_schema(written: str) -> None:
    xmlschema.XMLSchema(SCHEMA).validate(written)


def test_the_schema_refuses_invalid_documents(written: str) -> None:
    with pytest.raises(xmlschema.XMLSchemaValidationError, match="attribute 'tests'"):
        xmlschema.XMLSchema(SCHEMA).validate(written.replace(' tests="1"', "", 1))


def test_junitparser_reads_each_result(written: str) -> None:
    suites = junitparser.JUnitXml.fromstring(written.encode())

    assert (suites.tests, suites.failures, suites.errors) == (5, 1, 2)
    assert {
        suite.name: [type(result).__name__ for case in suite for result in case.result] for suite in suites
    } == {"passes": [], "fails": ["Failure"], "unknown": ["Error"], "broken": ["Error"], "late": ["Skipped"]}


def test_junitparser_and_we_count_the_same(written: str) -> None:
    suites = junitparser.JUnitXml.fromstring(written.encode())
    ours = (suites.tests, suites.failures, suites.errors, suites.time)

    suites.update_statistics()  # type: ignore[no-untyped-call]  # it has no annotation

    assert (suites.tests, suites.failures, suites.errors, suites.time) == ours
