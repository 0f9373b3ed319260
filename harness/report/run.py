"""The report of one run: a single HTML file that needs no network and opens from disk."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.printable import message, shorten
from harness.core.invocation import again, typed
from harness.files.atomic_files import replace_file
from harness.files.environment import options_of
from harness.report import wording
from harness.report.answer import answer
from harness.report.causes import Opening, Openings
from harness.report.chart_data import fitted, script_safe
from harness.report.counters import counters
from harness.report.environment_facts import surroundings
from harness.report.groups import Finding, explained, groups
from harness.report.heading import heading
from harness.report.lanes import Lanes, lanes
from harness.report.latency import points, summaries
from harness.report.narration import Narration, narrate
from harness.report.primer import primer
from harness.report.recorded_run import Parsed, Recorded, load
from harness.report.scenes import Scene, Stage, findings, matters_from, rejections
from harness.report.sentences import capitalized
from harness.report.size_limits import trimmed
from harness.report.step_references import label, numbered
from harness.report.timeline import Timeline, timeline

if TYPE_CHECKING:
    import jinja2

NAME = "report.html"
LARGEST = 10_000_000
"""Bytes of a report."""
_MOST_SCENES = 100
_MOST_TOLD = 25
_MOST_NAMES = 6
_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    "format.js",
    "scale.js",
    "timeline.js",
    "paint-text.js",
    "paint-lock.js",
    "paint-clients.js",
    "paint-storage.js",
    "paint-time.js",
    "marks.js",
    "details.js",
    "input.js",
    "latency.js",
    "page.js",
)
_MILLISECOND = 1_000_000  # ns
_SECOND = 1_000_000_000  # ns
_HYPHENATED = re.compile(r"(?<![\w.-])(\w{1,12}(?:-[\w.]{1,12}){1,3})(?![\w-])")
_NAMES_LINES = re.compile(r"\blines? [0-9]")
_STYLES = ("uplot/uPlot.min.css", "report.css")


def write(folder: Path, parsed: Parsed | None = None) -> Path:
    """Write `report.html` into a run folder, from what is `parsed` and whatever is in it; returns its path.

    Raises ConfigurationError where the folder has no verdict.
    """
    report = folder / NAME
    recorded = load(folder, parsed)
    page = render(recorded)
    if len(page.encode(errors="replace")) > LARGEST:
        page = render(trimmed(recorded))
    replace_file(report, [page])
    return report


def render(recorded: Recorded) -> str:
    """The report's HTML."""
    return template().render(_page(recorded))


@cache
def template() -> jinja2.Template:
    """The report's template, compiled once: that takes longer than to render it."""
    import jinja2  # slow to import, and few commands need it

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    environment.filters |= {
        "seconds": _seconds,
        "duration": _duration,
        "lines": _lines,
        "title": wording.title,
        "whole": _whole,
        "capitalized": capitalized,
        "names_lines": _NAMES_LINES.search,
        "code": _code,
        "some": _some,
    }
    return environment.get_template("report.html.j2")


def _page(recorded: Recorded) -> dict[str, Any]:
    verdict = recorded.verdict
    style = "\n".join(_asset(name) for name in _STYLES)
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    page = {
        "verdict": verdict,
        "coverage": wording.coverage(verdict),
        "anomalies": wording.anomalies(verdict),
        "plain": wording.MEANINGS,
        "faults": _faults(recorded),
        "where": surroundings(recorded.environment),
        "plan": recorded.plan,
        "target_file": recorded.target_file,
        "problems": recorded.problems,
        "notices": recorded.history.notices if recorded.history else (),
        "rerun": _rerun(recorded),
        "folder": str(recorded.folder),
        "recheck": typed("recheck", recorded.folder),
        "show": typed("show", recorded.folder),
        "style": style,
        "script": script,
        "style_hash": _digest(style),
        "script_hash": _digest(script),
    }
    return page | _timed(recorded)


def _timed(recorded: Recorded) -> dict[str, Any]:
    """The parts of the page that need a history."""
    clients = lanes(recorded.history) if recorded.history else Lanes((), None, {})
    laid_out = timeline(recorded, clients)
    head = heading(recorded, laid_out)
    said = answer(recorded.verdict, head.target)
    openings = Openings(recorded.history)
    operations = laid_out.operations if laid_out else ()
    facts: dict[str, Any] = {
        "heading": head,
        "answer": said,
        "primer": primer(said),
        "twin": said.twin.read_text(encoding="utf-8") if said.twin else "",
        "rejected": wording.counted(recorded.verdict).get("stale_writes_rejected", 0),
        "counters": counters(said, recorded.verdict, operations),
        "doubts": wording.doubts(recorded.verdict, said.happened),
        "groups": groups(recorded.verdict, openings, said.leads),
    }
    if laid_out is None:
        nothing: dict[str, Any] = {
            "timeline": None,
            "scenes": [],
            "findings": 0,
            "latency": (),
            "kept": None,
            "data": "{}",
        }
        return facts | nothing
    documents = explained(recorded.verdict, said.leads)
    scenes = _scenes(recorded, documents[:_MOST_SCENES], laid_out, clients)
    drawn, kept = fitted(laid_out, scenes, clients)
    data = {"drawing": drawn, "latency": _points(laid_out)}
    causes = [openings.of(finding) for finding in documents[:_MOST_SCENES]]
    return facts | {
        "timeline": laid_out,
        "scenes": [
            _told(number, scene, laid_out, clients) | {"cause": _cause(number, causes, recorded)}
            for number, scene in enumerate(scenes)
        ],
        "findings": len(documents),
        "latency": summaries(laid_out.operations),
        "kept": kept,
        "data": script_safe(data),
    }


def _cause(number: int, causes: Sequence[Opening | None], recorded: Recorded) -> tuple[str, str] | None:
    """How sure the cause of a scene is, and what it was."""
    opening = causes[number] if number < len(causes) else None
    if opening is None or recorded.history is None:
        return None
    return opening.title, opening.in_words(recorded.history.started)


def _scenes(
    recorded: Recorded, documents: Sequence[Finding], laid_out: Timeline, clients: Lanes
) -> tuple[Scene, ...]:
    if recorded.history is None:
        return ()
    stage = Stage(laid_out, clients, recorded.history)
    return findings(documents, stage) if documents else rejections(stage)


def _told(number: int, scene: Scene, laid_out: Timeline, clients: Lanes) -> dict[str, Any]:
    told = narrate(scene, laid_out, clients) if number < _MOST_TOLD else Narration(moments=(), left_out=0)
    operations = [laid_out.operations[index] for index in scene.proof]
    badges = {index: label(steps) for index, steps in numbered(scene.mentions)[0].items()}
    return {
        "scene": scene,
        "told": told,
        "at": _at(scene, laid_out),
        "proof": [
            {
                "lines": op.lines,
                "at": op.called,
                "who": clients.names[clients.lane(op.process)],
                "what": wording.action(op),
                "answer": wording.answer(op),
                "took": None if op.returned is None else op.returned - op.called,
                "badge": badges.get(op.index, ""),
                "mark": "accused" if op.index in scene.accused else "",
            }
            for op in operations
        ],
    }


def _at(scene: Scene, laid_out: Timeline) -> int:
    """When the last of the accused mattered, or of the proof where nobody is accused."""
    operations = (laid_out.operations[index] for index in scene.accused or scene.proof)
    return max(map(matters_from, operations), default=scene.start)


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


def _target(recorded: Recorded) -> str:
    return recorded.history.header.target if recorded.history else recorded.folder.parent.name


def _rerun(recorded: Recorded) -> str:
    """The command that runs the same target with the same faults."""
    file = recorded.folder / "target.toml"
    seed = recorded.plan.get("seed")
    if seed is None and recorded.history:
        seed = recorded.history.header.seed
    target = str(file) if recorded.target_file is not None else _target(recorded)
    return again(target, seed, options_of(recorded.environment))


def _faults(recorded: Recorded) -> list[dict[str, Any]]:
    faults = recorded.plan.get("faults")
    return [fault for fault in faults if isinstance(fault, dict)] if isinstance(faults, list) else []


def _seen(value: Any) -> Any:
    """What a page shows of a text: no character that would not be seen as itself, and an end."""
    return message(value) if type(value) is str else value


def _asset(name: str) -> str:
    return (importlib.resources.files("harness.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """A Content-Security-Policy source: this very text, and nothing that got in beside it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _seconds(moment: int | None, start: int = 0) -> str:
    """A moment, in seconds from the start."""
    return "" if moment is None else f"{(moment - start) / 1e9:,.3f} s"


def _duration(ns: int | None) -> str:
    """A duration with three digits that matter."""
    if ns is None:
        return "–"
    if ns < _MILLISECOND:
        return f"{ns / 1e3:.0f} µs"
    if ns < _SECOND:
        return f"{ns / 1e6:.3g} ms"
    return f"{ns / 1e9:.2f} s"


def _whole(text: str) -> Any:
    """Markup in which a short value with a hyphen, such as 2-1.0, does not break at it."""
    import markupsafe

    pieces = _HYPHENATED.split(message(text))  # every other one is such a value
    return markupsafe.Markup().join(
        markupsafe.Markup('<span class="whole">{}</span>').format(piece) if number % 2 else piece
        for number, piece in enumerate(pieces)
    )


def _code(text: str) -> Any:
    """Markup in which what stands between backticks is code."""
    import markupsafe

    return markupsafe.Markup().join(
        markupsafe.Markup("<code>{}</code>").format(piece) if number % 2 else piece
        for number, piece in enumerate(text.split("`"))
    )


def _some(names: Sequence[str]) -> str:
    """The first few of many names."""
    shown = ", ".join(map(shorten, names[:_MOST_NAMES]))
    return f"{shown} and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else shown


def _lines(lines: tuple[int, ...]) -> str:
    return ", ".join(str(line) for line in lines)
