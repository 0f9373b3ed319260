"""The content of a run's page, as its template reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checkers.vocabulary.document import CheckerDocument, FindingDocument
from harness.core.invocation import typed_anywhere
from harness.files import run_files
from harness.report import wording
from harness.report.answer import answer
from harness.report.causes import NO_CAUSE, Openings
from harness.report.chart_data import fitted, script_safe
from harness.report.counters import KeyFigure, counters, gives_tokens, untested
from harness.report.effort import effort, moments
from harness.report.environment_facts import Environment
from harness.report.fault_rows import FaultRow, fault_rows
from harness.report.groups import FindingGroup, explained, groups
from harness.report.hazard_grid import Hazards, hazards
from harness.report.heading import Heading, heading
from harness.report.headline import RunAnswer
from harness.report.holds import end_of
from harness.report.lanes import Lanes, lanes
from harness.report.latency import Summary, points, summaries
from harness.report.narration import Narration, narrate
from harness.report.primer import Primer, primer
from harness.report.recorded_run import RecordedRun
from harness.report.run_again import RunAgain, run_again
from harness.report.scenes import Scene, Stage, findings, rejections
from harness.report.step_references import label, numbered
from harness.report.thinning import Kept
from harness.report.timeline import Timeline, timeline
from harness.spec.reading import shipped

_MOST_SCENES = 100
_MOST_NARRATED = 25
_LONGEST_EVIDENCE = 1_000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRow:
    """An operation that proves a finding. Times in ns."""

    lines: tuple[int, ...]
    at: int
    who: str
    what: str
    answer: str
    took: int | None  # None: no answer came
    badge: str  # the steps that name it
    accused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFinding:
    """A finding on the page."""

    scene: Scene
    narration: Narration
    at: int  # ns
    proof: tuple[ProofRow, ...]
    causes: tuple[tuple[str, str], ...]  # a title and a sentence for each fault, or that there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryParts:
    """The parts of a page that need a history."""

    timeline: Timeline | None = None
    scenes: tuple[PageFinding, ...] = ()
    findings: int = 0
    latency: tuple[Summary, ...] = ()
    kept: Kept | None = None
    data: str = "{}"  # of the drawings, as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """The content of a page."""

    heading: Heading
    answer: RunAnswer
    counters: tuple[KeyFigure, ...]
    notices: tuple[str, ...]
    rejected: int  # stale writes
    timed: HistoryParts
    groups: tuple[FindingGroup, ...]
    effort: str
    moments: str
    coverage: list[wording.CoverageRow]
    hazards: Hazards | None
    windows: tuple[str, ...]
    anomalies: list[wording.Looked]
    checkers: list[CheckerDocument]
    faults: tuple[FaultRow, ...]
    primer: Primer
    environment: Environment
    seed: int | None
    target_file: str | None
    twin: str  # the target file of the correct twin
    folder: str
    rerun: RunAgain | None
    recheck: str
    show: str


def page(recorded: RecordedRun) -> ReportPage:
    """Gather the content of a run's page."""
    verdict, history = recorded.verdict, recorded.history
    clients = lanes(history) if history else Lanes((), None, {})
    laid_out = timeline(recorded, clients)
    head = heading(recorded, laid_out)
    said = answer(verdict, head.target, history)
    openings = Openings(history)
    operations = laid_out.operations if laid_out else ()
    return ReportPage(
        heading=head,
        answer=said,
        counters=counters(said, verdict, operations),
        notices=(
            *wording.doubts(verdict, said),
            *recorded.problems,
            *verdict.notices,
            *(history.notices if history else ()),
        ),
        rejected=verdict.coverage.get("stale_writes_rejected", 0),
        timed=_timed(recorded, laid_out, clients, explained(verdict, said.leads), openings),
        groups=groups(verdict, openings, said.leads),
        effort=effort(verdict),
        moments=moments(verdict),
        coverage=wording.coverage(verdict, by_tokens=gives_tokens(operations)),
        windows=tuple(map(str, verdict.windows)),
        hazards=hazards(verdict.hazards, history.header.hazards if history else None),
        anomalies=wording.anomalies(verdict, untested(operations)),
        checkers=verdict.checkers,
        faults=tuple(fault_rows(recorded.plan.faults, history)),
        primer=primer(said),
        environment=recorded.environment,
        seed=recorded.plan.seed,
        target_file=recorded.target_file,
        twin=said.twin.read_text(encoding="utf-8") if said.twin else "",
        folder=str(recorded.folder),
        rerun=_rerun(recorded, head.target),
        recheck=typed_anywhere("recheck", recorded.folder),
        show=typed_anywhere("show", recorded.folder),
    )


def _timed(
    recorded: RecordedRun,
    laid_out: Timeline | None,
    clients: Lanes,
    found: Sequence[FindingDocument],
    openings: Openings,
) -> HistoryParts:
    if laid_out is None or recorded.history is None:
        return HistoryParts()
    stage = Stage(laid_out, clients, recorded.history)
    scenes = findings(found[:_MOST_SCENES], stage) if found else rejections(stage)
    causes = [_causes(finding, recorded, openings) for finding in found[:_MOST_SCENES]] or [()] * len(scenes)
    drawn = fitted(laid_out, scenes, clients)
    return HistoryParts(
        timeline=laid_out,
        scenes=tuple(
            _entry(scene, known, stage, narrated=number < _MOST_NARRATED)
            for number, (scene, known) in enumerate(zip(scenes, causes, strict=True))
        ),
        findings=len(found),
        latency=summaries(laid_out.operations),
        kept=drawn.kept,
        data=f'{{"drawing":{drawn.text},"latency":{script_safe(_points(laid_out))}}}',
    )


def _causes(
    finding: FindingDocument, recorded: RecordedRun, openings: Openings
) -> tuple[tuple[str, str], ...]:
    """What led to a finding, or that nothing is known to have led to a violation."""
    opening, history = openings.of(finding), recorded.history
    if opening is not None and history is not None:
        return opening.in_words(history.started, history.header.clients, _LONGEST_EVIDENCE)
    is_violation = any(finding is violation for violation in recorded.verdict.findings)
    return (NO_CAUSE,) if is_violation and openings.is_unexplained(finding) else ()


def _entry(scene: Scene, causes: tuple[tuple[str, str], ...], stage: Stage, *, narrated: bool) -> PageFinding:
    nothing = Narration(moments=(), left_out=0)
    return PageFinding(
        scene=scene,
        narration=narrate(scene, stage.timeline, stage.lanes) if narrated else nothing,
        at=_at(scene, stage.timeline),
        proof=tuple(_proof(scene, stage)),
        causes=causes,
    )


def _proof(scene: Scene, stage: Stage) -> list[ProofRow]:
    badges = {index: label(steps) for index, steps in numbered(scene.mentions)[0].items()}
    return [
        ProofRow(
            lines=op.lines,
            at=op.called,
            who=stage.lanes.names[stage.lanes.lane(op.process)],
            what=wording.action(op),
            answer=wording.answer(op),
            took=None if op.returned is None else op.returned - op.called,
            badge=badges.get(op.index, ""),
            accused=op.index in scene.accused,
        )
        for op in map(stage.timeline.operations.__getitem__, scene.proof)
    ]


def _at(scene: Scene, laid_out: Timeline) -> int:
    """When the last accused operation was over, or the last of the proof if none is accused."""
    operations = (laid_out.operations[index] for index in scene.accused or scene.proof)
    return max(map(end_of, operations), default=scene.start)


def _points(laid_out: Timeline) -> dict[str, list[list[float]]]:
    """Columns of seconds and milliseconds by kind of call."""
    series = points(laid_out.operations, laid_out.start, laid_out.end)
    return {
        kind: [
            [round((at - laid_out.start) / 1e9, 4) for at, _ in measured],
            [max(0.001, round(took / 1e6, 3)) for _, took in measured],
        ]
        for kind, measured in series.items()
    }


def _rerun(recorded: RecordedRun, target: str) -> RunAgain | None:
    """How to run the same target with the same faults; None without its file, unless it is a shipped one."""
    seed = recorded.plan.seed
    if seed is None and recorded.history:
        seed = recorded.history.header.seed
    how = recorded.environment.repetition
    if recorded.target_file is not None:
        return run_again(recorded.folder / run_files.TARGET, seed, how, recorded.target_file)
    return run_again(target, seed, how, None) if target in shipped() else None
