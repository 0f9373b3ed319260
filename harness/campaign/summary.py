"""A night in Markdown, for GitHub's job summary and merge requests, and on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from harness.campaign.assessment import Assessment, CellResult
from harness.campaign.night import Night
from harness.campaign.shrinking import sentence
from harness.campaign.status import BY_URGENCY, RunOutcome, Status
from harness.report.markdown import code, inert, row
from harness.report.sentences import capitalized, count

_MOST_REASONS = 3


def markdown(night: Night, assessment: Assessment) -> str:
    """Write a night as Markdown: the sentence, a table of all cells, and each failure with its steps."""
    lines = [f"## {inert(assessment.plan.campaign)}: {inert(headline(assessment))}", ""]
    lines += [f"{inert(reason)}." for reason in without_verdict(assessment)]
    lines += [f"{inert(capitalized(notice))}." for notice in assessment.notices]
    lines += [f"{inert(str(assessment.canary))}."] * bool(assessment.canary)
    lines += ["", row(["cell", "status", "runs", "failed since the status changed"]), "|---|---|--:|---|"]
    lines += [_row(result) for result in by_urgency(assessment.listed)]
    for result in by_urgency(assessment.listed):
        lines += _failures(night, result)
        lines += _undecided(result)
    return "\n".join(lines) + "\n"


def headline(assessment: Assessment) -> str:
    """Say in one sentence how the night went."""
    counts = Counter(result.status for result in assessment.listed)
    said = ", ".join(
        f"{counts[status]} {status}{'s' * (counts[status] > 1 and status.endswith('failure'))}"
        for status in BY_URGENCY
        if counts[status]
    )
    loud = [f"SHARD {shard} MISSING" for shard in assessment.plan.missing]
    loud += ["OTHER CELLS THAN THE CAMPAIGN'S"] * bool(assessment.plan.unlike)
    loud += [f"{count(assessment.not_judged, 'run')} not judged again".upper()] * bool(assessment.not_judged)
    loud += ["CANARY MISSED"] * bool(assessment.canary and assessment.canary.missed)
    return ", ".join([*loud, said or "nothing was run"])


def without_verdict(assessment: Assessment) -> Iterator[str]:
    """Say why runs ended as infrastructure failures, the most frequent reason first."""
    runs = (run for result in assessment.listed for run in result.runs)
    why = Counter(run.headline for run in runs if run.outcome is RunOutcome.INFRASTRUCTURE)
    listed = why.most_common(_MOST_REASONS)
    for reason, number in listed:
        yield f"{count(number, 'run')} ended without a verdict: {reason}"
    if more := why.total() - sum(number for _, number in listed):
        yield f"{count(more, 'more run')} ended without a verdict, for other reasons"


def by_urgency(results: Iterable[CellResult]) -> list[CellResult]:
    """Sort cells, the most urgent first."""
    return sorted(results, key=lambda result: (BY_URGENCY.index(result.status), result.cell.name))


def _row(result: CellResult) -> str:
    rate = str(result.rate) if result.rate.runs else "–"
    note = f"; {result.clean}" if result.clean else ""
    return row([inert(result.cell.name), f"{result.said}{note}", str(len(result.runs)), rate])


def _failures(night: Night, result: CellResult) -> Iterator[str]:
    for run in result.failures:
        yield from ("", f"### {inert(result.cell.name)}, seed {run.finished.job.seed}", "")
        facts = [f"fingerprint {code(run.fingerprint or '')}", result.reproduced(run)]
        yield f"{inert(run.headline)} ({', '.join(filter(None, facts))})"
        if finding := run.finding:
            yield ""
            if finding.get("story"):
                yield from (inert(" ".join(finding["story"])), "")
            yield from (f"{number}. {inert(step)}" for number, step in enumerate(finding["steps"], start=1))
        yield from ("", "In the folder of the night:", "")
        if repeated := night.run_again(run.finished, from_here=True):
            yield from (f"    {repeated.command}", "")
            yield from (f"- {inert(note)}" for note in repeated.notes())
        if shrunk := sentence(night, run):
            folder = inert(run.finished.folder or "")
            yield from ("", f"{inert(shrunk)}. It is in the files minimal\\* of {folder}.")


def _undecided(result: CellResult) -> Iterator[str]:
    for run in result.undecided:
        heading = f"### {inert(result.cell.name)}, seed {run.finished.job.seed}: {run.outcome}"
        yield from ("", heading, "", inert(run.headline))


def lines(assessment: Assessment) -> Iterator[str]:
    """List the cells that are not simply passing, the most urgent first."""
    if assessment.canary:
        yield str(assessment.canary)
    for result in by_urgency(assessment.listed):
        if result.status is Status.PASSING and not result.undecided:
            continue
        facts = [result.cell.name, result.rate if result.rate.failed else None, result.clean]
        yield f"{result.status}: {'; '.join(str(fact) for fact in facts if fact)}"
        for run in result.failures:
            seen = [f"fingerprint {run.fingerprint}", result.reproduced(run)]
            yield f"  seed {run.finished.job.seed}: {run.headline} ({', '.join(filter(None, seen))})"
        for run in result.undecided:
            yield f"  seed {run.finished.job.seed}: {run.headline}"
    yield from assessment.notices
