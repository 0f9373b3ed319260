"""The content of a run's page, as its template reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from types import SimpleNamespace

from checkers.facts.evidence import gather
from checkers.facts.hits import FaultHits, hits_of
from checkers.history.columns import EXECUTE, RENEW, Operations
from checkers.history.records import History, Op
from checkers.vocabulary.document import FindingDocument
from harness.core.invocation import NO_FAULTS, typed_anywhere
from harness.files import run_files
from harness.report import handovers, wording
from harness.report.answer import answer
from harness.report.causes import NO_CAUSE, Openings
from harness.report.chart_data import fitted, script_safe
from harness.report.counters import counters, gives_tokens, untested
from harness.report.effort import effort, moments
from harness.report.groups import explained, groups
from harness.report.hazard_grid import hazards
from harness.report.headline import RunAnswer
from harness.report.holds import end_of
from harness.report.interruption import in_words
from harness.report.lanes import Lanes, lanes
from harness.report.latency import points, summaries
from harness.report.narration import narrate
from harness.report.recorded_run import RecordedFault, RecordedRun
from harness.report.run_again import RunAgain, run_again
from harness.report.scenes import Scene, Stage, findings, label, numbered, rejections
from harness.report.sentences import count
from harness.report.timeline import Timeline, timeline
from harness.spec.reading import shipped
from harness.spec.toml import changed_in, head_comment

_MOST_SCENES = 100
_MOST_NARRATED = 25
_LONGEST_EVIDENCE = 1_000  # characters
_RUN_ID = re.compile(r"(\d{8}T\d{6})-[0-9a-f]+")
Causes = tuple[tuple[str, str], ...]


def page(recorded: RecordedRun) -> SimpleNamespace:
    """Gather the content of a run's page, by the names that the template reads."""
    verdict, history = recorded.verdict, recorded.history
    clients = lanes(history) if history else Lanes((), None, {})
    laid_out = timeline(recorded, clients)
    head = heading(recorded, laid_out)
    said = answer(verdict, head.target, history)
    openings = Openings(history)
    operations = laid_out.operations if laid_out else ()
    return SimpleNamespace(
        heading=head,
        answer=said,
        counters=counters(said, verdict, operations),
        notices=(
            *wording.doubts(verdict, said),
            *recorded.problems,
            *verdict.notices,
            *((*history.notices, *handovers.doubts(history)) if history else ()),
        ),
        rejected=verdict.coverage.get("stale_writes_rejected", 0),  # stale writes
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
        twin=said.twin.read_text(encoding="utf-8") if said.twin else "",  # the correct one's target file
        folder=str(recorded.folder),
        rerun=_rerun(recorded, head.target),
        recheck=typed_anywhere("recheck", recorded.folder),
        show=typed_anywhere("show", recorded.folder),
    )


def heading(recorded: RecordedRun, laid_out: Timeline | None) -> SimpleNamespace:
    """Read the head of a page from a run's folder, without what was not recorded."""
    target = recorded.history.header.target if recorded.history else recorded.folder.parent.name
    file = recorded.target_file or ""
    changed = tuple(f"{key} = {value}" for key, value in changed_in(file))
    if NO_FAULTS in recorded.environment.repetition.options:
        changed = (*changed, NO_FAULTS)
    worked = f"{(laid_out.end - laid_out.start) / 1e9:.1f} s of work" if laid_out else ""
    facts = (
        _date(recorded),
        in_words(recorded.verdict.interrupted) or worked,
        f"{recorded.environment.engine} engine" if recorded.environment.engine else "",
        "" if recorded.plan.seed is None else f"seed {recorded.plan.seed}",
        _worked(laid_out.operations) if laid_out else "",
    )
    return SimpleNamespace(
        target=target,
        story=head_comment(file),  # the description in its file, one or two sentences
        facts=tuple(filter(None, facts)),
        changed=changed,  # "workload.duration = "6s"", "--no-faults"
    )


def _date(recorded: RecordedRun) -> str:
    """When it began, in UTC: as recorded, or by its folder's name."""
    began = recorded.environment.began
    named = _RUN_ID.fullmatch(recorded.folder.name)
    try:
        if began:
            moment = datetime.fromisoformat(began).astimezone(UTC)
        elif named:
            moment = datetime.strptime(named[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        else:
            return ""
    except ValueError:
        return ""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _worked(operations: Sequence[Op]) -> str:
    """How much the clients did, and how much of it were renewals, which run in parallel."""
    renewals = len(Operations.of(operations).columns.rows(RENEW))
    renewed = f", {renewals:,} of them {'a renewal' if renewals == 1 else 'renewals'}" if renewals else ""
    return f"{count(len(operations), 'operation')}{renewed}"


def _timed(
    recorded: RecordedRun,
    laid_out: Timeline | None,
    clients: Lanes,
    found: Sequence[FindingDocument],
    openings: Openings,
) -> SimpleNamespace:
    """Gather the parts of a page that need a history."""
    if laid_out is None or recorded.history is None:
        return SimpleNamespace(
            timeline=None, scenes=(), findings=0, latency=(), jobs=False, kept=None, data="{}"
        )
    stage = Stage(laid_out, clients, recorded.history)
    scenes = findings(found[:_MOST_SCENES], stage) if found else rejections(stage)
    causes = [_causes(finding, recorded, openings) for finding in found[:_MOST_SCENES]] or [()] * len(scenes)
    drawn = fitted(laid_out, scenes, clients)
    return SimpleNamespace(
        timeline=laid_out,
        scenes=tuple(
            _entry(scene, known, stage, narrated=number < _MOST_NARRATED)
            for number, (scene, known) in enumerate(zip(scenes, causes, strict=True))
        ),
        findings=len(found),
        latency=summaries(laid_out.operations),
        jobs=len(laid_out.operations.columns.rows(EXECUTE)) > 0,
        kept=drawn.kept,
        # Of the drawings, as JSON.
        data=f'{{"drawing":{drawn.text},"latency":{script_safe(_points(laid_out))}}}',
    )


def _causes(finding: FindingDocument, recorded: RecordedRun, openings: Openings) -> Causes:
    """What led to a finding, or that nothing is known to have led to a violation."""
    known = openings.in_words(finding, _LONGEST_EVIDENCE)
    is_violation = any(finding is violation for violation in recorded.verdict.findings)
    return known if is_violation or known != (NO_CAUSE,) else ()


def _entry(scene: Scene, causes: Causes, stage: Stage, *, narrated: bool) -> SimpleNamespace:
    """Describe a finding on the page."""
    nothing = SimpleNamespace(moments=(), left_out=0)
    wrong = (stage.timeline.operations[index] for index in scene.accused or scene.proof)
    return SimpleNamespace(
        scene=scene,
        narration=narrate(scene, stage.timeline, stage.lanes) if narrated else nothing,
        at=max(map(end_of, wrong), default=scene.start),  # the end of the last accused operation
        proof=tuple(_proof(scene, stage)),
        causes=causes,  # a title and a sentence for each fault, or that there is none
    )


def _proof(scene: Scene, stage: Stage) -> list[SimpleNamespace]:
    """Describe each operation that proves a finding, or that a step names, for the template. Times in ns."""
    shown = (*scene.proof, *(index for mention in scene.mentions for index in mention.operations))
    badges = {index: label(steps) for index, steps in numbered(scene.mentions)[0].items()}
    return [
        SimpleNamespace(
            lines=op.lines,
            at=op.called,
            who=stage.lanes.names[stage.lanes.lane(op.process)],
            what=wording.action(op),
            answer=wording.answer(op),
            took=None if op.returned is None else op.returned - op.called,  # None: no answer came
            badge=badges.get(op.index, ""),  # the steps that name it
            accused=op.index in scene.accused,
        )
        for op in sorted(stage.operations(shown), key=attrgetter("called", "index"))
    ]


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


_LOCK = (
    "A lock service lets one client at a time work on something. The lock is granted for a limited time, the"
    " lease, and comes with a number that grows with every grant: the fencing token."
)
_STALE = (
    "A client can be stopped for so long, by a garbage collection or a frozen machine, that its lease runs"
    " out before it notices. Another client gets the lock and a higher token; then the first wakes up and"
    " finishes its write: a stale write."
)
_FENCE = (
    "A storage with a fence remembers the highest token that it has accepted, and refuses lower ones."
    " Without a fence, a stale write destroys newer data."
)


def primer(answer: RunAnswer) -> SimpleNamespace:
    """Explain, under a title, the anomaly that an answer is about; without one, what is tested."""
    anomaly = answer.anomaly
    if anomaly is None:
        return SimpleNamespace(title="Background: what this test does", sentences=(_LOCK, _STALE, _FENCE))
    common = {"storage": (_LOCK, _FENCE), "lock": (_LOCK,), "both": (_LOCK,)}[anomaly.area]
    if anomaly.name in {"stale-write", "double-belief", "late-write"}:
        common = (_LOCK, _STALE, _FENCE)
    own = (f"{anomaly.definition} {anomaly.arises}", f"{anomaly.matters} {anomaly.remedy}")
    return SimpleNamespace(title=f"Background: {anomaly.name}", sentences=(*common, *own))


_NOT_OBSERVED = "no: it was not observed from beginning to end"
_HIT_NOTHING = "no: it hit neither a client that held a lock nor one that waited for it"


def fault_rows(faults: Sequence[RecordedFault], history: History | None) -> Iterator[SimpleNamespace]:
    """Yield the faults of a plan in their order, and if the checkers count each, and else why not.

    That is "" if the history is not known.
    """
    hits = () if history is None else hits_of(gather(history))
    counted: dict[tuple[str, str, int | None], str] = {
        (each.fault.kind, each.fault.target, each.fault.began): _counted(each) for each in hits
    }
    otherwise = "" if history is None else _NOT_OBSERVED
    for fault in faults:
        observed = (fault.kind, fault.target, fault.in_force)
        yield SimpleNamespace(fault=fault, counted=counted.get(observed, otherwise))


def _counted(hits: FaultHits) -> str:
    if hits.counts:
        return "yes"
    return _NOT_OBSERVED if math.isinf(hits.fault.healed) else _HIT_NOTHING
