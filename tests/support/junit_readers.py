"""junit.xml as CI servers read it: valid by their schemas, and counted."""

from __future__ import annotations

from pathlib import Path

import junitparser
import xmlschema

SCHEMA = Path(__file__).with_name("junit.xsd")


def validated(text: str) -> junitparser.JUnitXml:
    """Read a document that is valid by Ant's and Jenkins' schema; its totals are those of its suites."""
    xmlschema.XMLSchema(SCHEMA).validate(text)
    suites = junitparser.JUnitXml.fromstring(text.encode())
    stated = [_counts(suite) for suite in suites]
    suites.update_statistics()  # type: ignore[no-untyped-call]  # it has no annotation
    assert [_counts(suite) for suite in suites] == stated
    return suites


def results(suites: junitparser.JUnitXml) -> dict[str, list[str]]:
    """Of each suite, what its cases have as a result; nothing for one that passed."""
    return {
        suite.name: [type(result).__name__ for case in suite for result in case.result] for suite in suites
    }


def properties(suite: junitparser.TestSuite) -> dict[str, str]:
    """The properties of a suite."""
    return {each.name: each.value for each in suite.properties()}  # type: ignore[no-untyped-call]


def _counts(suite: junitparser.TestSuite) -> tuple[int, int, int, int, float]:
    return suite.tests, suite.failures, suite.errors, suite.skipped, suite.time
