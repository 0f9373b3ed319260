"""JUnit XML: a suite for each cell, a case for each run; as Jenkins, GitHub and GitLab read it."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from checkers.printable import printable
from harness.campaign.assessment import Assessment, CellResult, Run
from harness.campaign.canary import is_canary
from harness.campaign.fingerprint import primary
from harness.campaign.night import Night
from harness.campaign.status import Outcome
from harness.core.invocation import typed_anywhere


def junit(night: Night, assessment: Assessment, *, allow_unknown: bool) -> str:
    """Write a night as JUnit XML.

    A violation is a failure, an infrastructure failure an error, an unknown an error unless allowed;
    a quarantined failure is skipped with its reason, and so is a run that did not fit into the budget.
    """
    root = ET.Element("testsuites", name=_text(assessment.campaign))
    for result in assessment.cells:
        root.append(_suite(night, assessment, result, allow_unknown=allow_unknown))
    _count(root, list(root))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(night: Night, assessment: Assessment, result: CellResult, *, allow_unknown: bool) -> ET.Element:
    suite = ET.Element("testsuite", name=_text(result.cell.name), timestamp=assessment.started[:19])
    for run in result.runs:
        suite.append(_case(night, result, run, allow_unknown=allow_unknown))
    for number in range(result.not_run):
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_text(f"{assessment.campaign}.{result.cell.name}"),
            name=f"not run {number + 1}",
            time="0",
        )
        tag = "failure" if is_canary(result.cell.name) else "skipped"
        ET.SubElement(case, tag, message="there was no time for it")
    return suite


def _case(night: Night, result: CellResult, run: Run, *, allow_unknown: bool) -> ET.Element:
    finished = run.finished
    case = ET.Element(
        "testcase",
        classname=_text(f"{night.plan.campaign}.{result.cell.name}"),
        name=f"run {finished.job.repeat}, seed {finished.job.seed}",
        time=f"{finished.seconds:.3f}",
    )
    tag = _TAGS.get(run.outcome)
    if run.outcome is Outcome.UNKNOWN and allow_unknown:
        tag = None
    if tag == "skipped" and run.quarantine:
        ET.SubElement(
            case, tag, message=_text(f"quarantined until {run.quarantine.until}: {run.quarantine.reason}")
        )
    elif tag:
        element = ET.SubElement(case, tag, type=run.outcome.value, message=_text(run.headline))
        element.text = _text("\n".join(_details(night, result, run)))
    if finished.folder:
        ET.SubElement(case, "system-out").text = _text(f"run folder: {finished.folder}")
    return case


_TAGS = {
    Outcome.FAILED: "failure",
    Outcome.UNKNOWN: "error",
    Outcome.INFRASTRUCTURE: "error",
    Outcome.QUARANTINED: "skipped",
}


def _details(night: Night, result: CellResult, run: Run) -> Iterable[str]:
    """The steps that prove a failure, and how to repeat it."""
    finished = run.finished
    verdict = finished.verdict
    if verdict is None:
        yield finished.message
        return
    yield from verdict["reasons"]
    finding = primary(verdict)
    if finding:
        yield ""
        yield f"{finding['anomaly']}: {finding['summary']}"
        yield from (f"{number}. {step}" for number, step in enumerate(finding["steps"], start=1))
    yield ""
    if run.fingerprint:
        yield f"fingerprint: {run.fingerprint}"
    if reproduced := result.reproduced(run):
        yield reproduced
    if finished.folder:
        yield f"check again: {typed_anywhere('recheck', night.path / finished.folder)}"
        yield f"run again: {night.replay(finished)}"


def _count(root: ET.Element, suites: list[ET.Element]) -> None:
    """Write the totals that readers expect into each suite and the root."""
    for element in (*suites, root):
        cases = list(element.iter("testcase"))
        element.set("tests", str(len(cases)))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if element is not root or name != "skipped":
                element.set(name, str(sum(case.find(tag) is not None for case in cases)))
        element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")


def _text(text: str) -> str:
    """XML allows no control characters, not even escaped; line breaks are kept."""
    return "\n".join(printable(line) for line in text.split("\n"))
