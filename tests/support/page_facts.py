"""What the terminal and the page of a recorded run decide, without their words, as lines.

It is read from the values that both are rendered from. Only which sections the page has is read from the
page itself, by their ids. Operations and faults are named by their first line in history.jsonl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import groupby
from types import SimpleNamespace

from checkers.vocabulary.document import FindingDocument, VerdictDocument
from harness.core.exit_codes import of_verdict
from harness.report import advice
from harness.report.causes import Opening, Openings
from harness.report.groups import FindingGroup, explained
from harness.report.headline import RunAnswer
from harness.report.lines import StyledLine
from harness.report.scenes import Scene, label, numbered
from harness.report.timeline import Timeline
from tests.support.reported_runs import Reported

_ADVICE = {text: name for name, text in vars(advice).items() if name.isupper() and isinstance(text, str)}
_ADVICE |= {text: f"UNDECIDED {kind}" for kind, text in advice.UNDECIDED.items()}


def page_facts(run: Reported) -> list[str]:
    """The decisions about a run, a line each."""
    document, page = run.recorded.verdict, run.page
    return [
        f"verdict: {', '.join(_verdict(document))}",
        f"answer: {', '.join(_answer(page.answer))}",
        f"terminal: {', '.join(_terminal(run.terminal))}",
        f"sections: {' '.join(_sections(run.html))}",
        f"counters: {', '.join(_counters(page))}",
        *_groups(run),
        *(
            f"windows: {each.fault}, {each.hit} hit, {sum(each.missed.values())} missed"
            for each in document.windows
        ),
        *_hazards(page, document),
        f"coverage: {sum(row.number > 0 for row in page.coverage)} counts of {len(page.coverage)}",
        f"checked: {', '.join(_checked(page))}",
        f"latency: {_counted((row.kind, row.calls) for row in page.timed.latency)}",
        f"faults: {_counted(sorted(Counter(row.fault.kind for row in page.faults).items()))}",
        f"background: {', '.join(_background(page))}",
    ]


def _verdict(document: VerdictDocument) -> Iterator[str]:
    yield document.verdict
    yield "as expected" if document.as_expected else "not as expected"
    yield from (f"because {kind}" for kind in document.reason_kinds)
    yield f"exit {of_verdict(document).name}"
    if document.interrupted:
        yield "interrupted"


def _answer(said: RunAnswer) -> Iterator[str]:
    yield said.tone.value
    if said.says_why:
        yield "says why"
    if said.leads:
        yield f"about {' '.join(said.leads)}"
    yield f"matters: {_advice(said.matters, said, 'matters')}"
    yield f"remedy: {_advice(said.remedy, said, 'remedy')}"
    if said.terms:
        yield "explains terms"
    if said.twin:
        yield f"example {said.twin.stem}"


def _advice(text: str, said: RunAnswer, attribute: str) -> str:
    """Where a sentence is from: the table of an anomaly, a constant, or neither."""
    if said.anomaly and text == getattr(said.anomaly, attribute):
        return said.anomaly.name
    return _ADVICE.get(text, "of this run")


def _terminal(lines: Iterable[StyledLine]) -> Iterator[str]:
    """How many lines of which tone and indent follow one another."""
    for (tone, indent), alike in groupby(lines, lambda line: (line.tone, line.indent)):
        number = sum(1 for _ in alike)
        yield f"{tone.value} {indent}" + (f" ×{number}" if number > 1 else "")


class _Ids(HTMLParser):
    """Gathers what the sections of a page are labelled by."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self.found.append(given.get("aria-labelledby") or given.get("class") or "")


def _sections(html: str) -> list[str]:
    reader = _Ids()
    reader.feed(html)
    return reader.found


def _counters(page: SimpleNamespace) -> Iterator[str]:
    for counter in page.counters:
        yield f"{counter.name.lower()} {counter.number}{' (alarm)' * counter.alarm}"


def _groups(run: Reported) -> Iterator[str]:
    """The findings by cause, and the scene of the first of each; without findings, the first rejection."""
    page, document = run.page, run.recorded.verdict
    found = explained(document, page.answer.leads)
    openings = Openings(run.recorded.history)
    timed, laid_out = page.timed, page.timed.timeline
    yield f"scenes: {len(timed.scenes)} of {timed.findings} findings, {page.rejected} rejected"
    for group in page.groups:
        causes = [openings.of(found[member]) for member in group.members]
        yield f"group: {', '.join(_group(group, found[group.members[0]], causes))}"
        if laid_out and group.members[0] < len(timed.scenes):
            yield from _scene(timed.scenes[group.members[0]], laid_out)
    if laid_out and timed.scenes and not page.groups:
        yield from _scene(timed.scenes[0], laid_out)


def _group(group: FindingGroup, first: FindingDocument, causes: Sequence[Opening | None]) -> Iterator[str]:
    yield f"{group.anomaly} ×{group.number}{' (counted)' * group.counted}"
    yield f"{len(group.members)} explained, the first as finding {group.members[0] + 1}"
    yield f"on {' '.join(group.resources)}"
    if first.caused_by:
        yield f"follows from {first.caused_by.anomaly}"
    known = [cause for cause in causes if cause]
    if known:
        certain = sum(cause.certain for cause in known)
        yield f"{_cause(known[0])}, {certain} certain, {len(known) - certain} probable"


def _cause(cause: Opening) -> str:
    faults = [fault for fault in (cause.fault, *(fault for fault, _ in cause.others)) if fault]
    kinds = [f"{fault.kind} of {fault.target.partition(':')[0]}" for fault in faults]
    late = [f"late {cause.late.f}"] if cause.late else []
    return f"cause {' with '.join(dict.fromkeys([*late, *kinds]))}"


def _scene(entry: SimpleNamespace, laid_out: Timeline) -> Iterator[str]:
    """What is drawn for a finding."""
    scene = entry.scene
    parts = {
        "rule": scene.rule,
        "proof": _ops(scene.proof, laid_out),
        "accused": _ops(scene.accused, laid_out),
        "against": _ops(scene.against, laid_out),
        "holds": _ops(scene.holds, laid_out),
        "entries": " ".join(map(str, scene.unmatched)),
        "lanes": " ".join(map(str, scene.lanes)),
        "fault": _fault(entry),
        "spans": " ".join(_seconds(span.start, span.end, laid_out) for span in scene.spans),
        "from": _seconds(scene.start, scene.end, laid_out),
    }
    yield f"  scene: {', '.join(f'{name} {value}' for name, value in parts.items() if value)}"
    yield f"  marks: {', '.join(_marks(scene, laid_out))}"
    moments = entry.narration.moments
    marked = sum(moment.marked for moment in moments)
    yield (
        f"  beside: {len(scene.story)} sentences, {len(scene.steps)} steps, {len(entry.causes)} causes,"
        f" {len(entry.proof)} operations, {len(moments)} moments, {marked} of them marked"
    )


def _ops(indexes: Iterable[int], laid_out: Timeline) -> str:
    return " ".join(str(laid_out.operations[index].lines[0]) for index in indexes)


def _fault(entry: SimpleNamespace) -> str:
    """The fault that opened the window."""
    cause = entry.scene.cause
    if cause is None:
        return ""
    said = {"Cause": " certain", "Probable cause": " probable"}
    return (
        f"{cause.fault.kind} at {cause.fault.lines[0]}{''.join(said[title] for title, _ in entry.causes[:1])}"
    )


def _seconds(start: int, end: int, laid_out: Timeline) -> str:
    return f"{(start - laid_out.start) / 1e9:.3f}–{(end - laid_out.start) / 1e9:.3f} s"


def _marks(scene: Scene, laid_out: Timeline) -> Iterator[str]:
    """The badges in the drawing: numbers of steps, at an operation or a fault."""
    operations, bands = numbered(scene.mentions)
    yield from (f"{label(steps)} at {_ops([index], laid_out)}" for index, steps in operations.items())
    yield from (
        f"{label(steps)} at fault {laid_out.bands[place].fault.lines[0]}" for place, steps in bands.items()
    )


def _hazards(page: SimpleNamespace, document: VerdictDocument) -> Iterator[str]:
    seen = document.hazards
    if page.hazards and seen:
        grids = ", ".join(f"a grid of {len(grid.rows)} rows" for grid in page.hazards.grids)
        yield (
            f"hazards: {len(seen.hit)} hit, {len(seen.missed)} missed, {seen.untried} untried,"
            f" {len(page.hazards.impossible)} reasons for impossible ones, {grids}"
        )


def _checked(page: SimpleNamespace) -> Iterator[str]:
    """What was found, what could not be, and how many anomalies were not found."""
    for row in page.anomalies:
        if row.found:
            yield f"{row.name} {row.found}{'' if row.violation else ' (counted)'}"
        elif row.lacking:
            yield f"no {row.name} possible"
    yield f"{sum(not row.found and not row.lacking for row in page.anomalies)} not found"


def _background(page: SimpleNamespace) -> Iterator[str]:
    yield f"{len(page.notices)} notices"
    yield f"{len(page.primer.sentences)} sentences"
    yield f"{len(page.environment.servers)} servers"
    yield f"changed {' '.join(page.heading.changed) or 'nothing'}"
    if page.timed.kept and page.timed.kept.left_out:
        yield "thinned"
    if page.rerun:
        yield "can be run again"


def _counted(numbers: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers if number) or "none"
