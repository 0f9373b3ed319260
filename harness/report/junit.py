"""JUnit XML as Ant defines it, which Jenkins, GitHub and GitLab read as well.

Ant's schema requires all that is written here. It allows no attribute of `testsuites`, no output
of a single case, and no `type` of a skipped one. XML allows no control character, no unpaired
surrogate and no U+FFFE, not even escaped: `printable` leaves none.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from checkers.history.records import History
from checkers.text.printable import line, message
from checkers.vocabulary.document import VerdictDocument
from harness.core.duration import NS
from harness.core.exit_codes import ExitCode, of_verdict
from harness.files import run_files
from harness.files.atomic_files import replace_file
from harness.report.answer import answer
from harness.report.recorded_run import recorded_plan
from harness.report.verdict_text import JudgedRun, explanation

NAME = "junit.xml"
Kind = Literal["failure", "error", "skipped"]
_PACKAGE = "fencepost"
_ENVIRONMENT = ("engine", "fencepost", "git_commit")
_KINDS: Mapping[ExitCode, tuple[Kind, str]] = {
    ExitCode.VIOLATION: ("failure", "failed"),
    ExitCode.UNKNOWN: ("error", "unknown"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Why a case did not pass. `type`: the outcome in a word."""

    kind: Kind
    type: str
    message: str
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run."""

    name: str
    seconds: float = 0.0
    result: Result | None = None  # None: it passed


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The runs of one target."""

    name: str
    package: str  # what the target is a part of
    started: str  # ISO 8601, UTC
    properties: Mapping[str, object]  # those that are None are not written
    cases: Sequence[Case]
    output: Sequence[str] = ()  # lines


def written(suites: Iterable[Suite]) -> str:
    """Write a document."""
    root = ET.Element("testsuites")
    root.extend([_suite(suite, number) for number, suite in enumerate(suites)])
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(suite: Suite, number: int) -> ET.Element:
    results = [case.result.kind if case.result else "" for case in suite.cases]
    element = ET.Element(
        "testsuite",
        name=line(suite.name),
        package=line(suite.package),
        id=str(number),
        hostname=line(platform.node() or "localhost"),
        timestamp=_timestamp(suite.started),
        tests=str(len(suite.cases)),
        failures=str(results.count("failure")),
        errors=str(results.count("error")),
        skipped=str(results.count("skipped")),
        time=_seconds(sum(case.seconds for case in suite.cases)),
    )
    properties = ET.SubElement(element, "properties")
    for name, value in suite.properties.items():
        if value is not None:
            ET.SubElement(properties, "property", name=name, value=line(str(value)))
    element.extend([_case(case, f"{suite.package}.{suite.name}") for case in suite.cases])
    ET.SubElement(element, "system-out").text = message(*suite.output)
    ET.SubElement(element, "system-err")
    return element


def _case(case: Case, classname: str) -> ET.Element:
    element = ET.Element(
        "testcase", classname=line(classname), name=line(case.name), time=_seconds(case.seconds)
    )
    if case.result:
        result = ET.SubElement(element, case.result.kind, message=line(case.result.message))
        if case.result.kind != "skipped":
            result.set("type", case.result.type)
        result.text = message(*case.result.lines)
    return element


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _timestamp(moment: str) -> str:
    """Ant allows no fraction and no time zone."""
    try:
        return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    except (ValueError, OverflowError):  # it may come from a stranger
        return "1970-01-01T00:00:00"


def write(folder: Path, document: VerdictDocument, history: History) -> None:
    """Write a judged run: a violation is a failure, and an unknown run an error."""
    header = history.header
    run = replace(JudgedRun.of(folder.absolute(), document, history), has_report=True)  # it is written next
    cut = document.interrupted
    worked = cut.seconds if cut else (recorded_plan(folder).duration or 0) / NS["s"]  # 0: it is not known
    _write(folder, header.target, header.seed, worked, _result(run))


def write_unjudged(folder: Path, target: str, seed: int, headline: str, why: Sequence[str]) -> None:
    """Write a run that ended without a verdict: an error."""
    said = f"{headline}: {why[0]}"
    _write(
        folder, target, seed, 0.0, Result(kind="error", type="infrastructure", message=said, lines=why[1:])
    )


def _write(folder: Path, target: str, seed: int | None, seconds: float, result: Result | None) -> None:
    environment = run_files.document(folder, run_files.ENVIRONMENT)
    suite = Suite(
        name=target,
        package=_PACKAGE,
        started=str(environment.get("began")),
        properties={"seed": seed, **{name: environment.get(name) for name in _ENVIRONMENT}},
        cases=[Case(name="run", seconds=seconds, result=result)],
        output=[f"run folder: {folder.absolute()}"],
    )
    replace_file(folder / NAME, [written([suite])])


def _result(run: JudgedRun) -> Result | None:
    found = _KINDS.get(of_verdict(run.document))
    if found is None:
        return None
    kind, outcome = found
    said = answer(run.document, run.target).headline
    return Result(kind=kind, type=outcome, message=said, lines=explanation(run))
