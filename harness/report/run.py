"""The report of one run: a single HTML file that needs no network and opens from disk."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from checkers.history.gc_pause import gc_paused
from checkers.text.printable import line, message, shorten
from checkers.vocabulary.fault_kinds import named
from harness.core.duration import NS
from harness.files.atomic_files import replace_file
from harness.files.known_digests import remember_page
from harness.report import wording
from harness.report.hazard_grid import ENDS
from harness.report.page import page
from harness.report.recorded_run import Parsed, RecordedRun, load, trimmed
from harness.report.sentences import capitalized, times, title

NAME = "report.html"
PACKAGE = "harness.report"
LARGEST = 10_000_000
"""Bytes of a report."""
_MOST_NAMES = 6
_SCRIPTS = (
    "uplot/uPlot.iife.min.js",
    "format.js",
    "address.js",
    "scale.js",
    "timeline.js",
    "paint-text.js",
    "labels.js",
    "paint-lock.js",
    "paint-clients.js",
    "paint-storage.js",
    "paint-time.js",
    "marks.js",
    "details.js",
    "input.js",
    "operations.js",
    "latency.js",
    "page.js",
)
_HYPHENATED = re.compile(r"(?<![\w.-])(\w{1,12}(?:-[\w.]{1,12}){1,3})(?![\w-])")
STYLE = "report.css"
_STYLES = ("uplot/uPlot.min.css", STYLE)


def write(folder: Path, parsed: Parsed | None = None) -> Path:
    """Write `report.html` into a run folder, from what is `parsed` and the files in it; returns its path.

    Raises ConfigurationError if the folder has no verdict.
    """
    report = folder / NAME
    with gc_paused():
        html = drawn(load(folder, parsed))
    replace_file(report, [html])
    remember_page(html)
    return report


def drawn(recorded: RecordedRun) -> str:
    """The report's HTML, without what would make it too large."""
    html = render(recorded)
    return html if len(html.encode(errors="replace")) <= LARGEST else render(trimmed(recorded))


def render(recorded: RecordedRun) -> str:
    """The report's HTML."""
    style, script = ("\n".join(asset(PACKAGE, name) for name in names) for names in (_STYLES, _SCRIPTS))
    return template().render(
        page=page(recorded),
        plain=wording.MEANINGS,
        ends=ENDS,
        style=style,
        script=script,
        style_hash=digest(style),
        script_hash=digest(script),
    )


@cache
def template() -> jinja2.Template:
    """The report's template, compiled once: that takes longer than to render it."""
    made = environment(PACKAGE)
    made.filters |= {
        "seconds": _seconds,
        "duration": _duration,
        "line_numbers": _lines,
        "title": title,
        "whole": _whole,
        "capitalized": capitalized,
        "code": _code,
        "some": _some,
        "named": named,
        "times": times,
    }
    return made.get_template("report.html.j2")


def _seconds(moment: int | None, start: int = 0) -> str:
    """A moment, in seconds from the start."""
    return "" if moment is None else f"{(moment - start) / 1e9:,.3f} s"


def _duration(ns: int | None) -> str:
    """A duration with three significant digits."""
    if ns is None:
        return "–"
    if ns < NS["us"]:
        return "under 1 µs"
    if ns < NS["ms"]:
        return f"{ns / 1e3:.0f} µs"
    if ns < NS["s"]:
        return f"{ns / 1e6:.3g} ms"
    return f"{ns / 1e9:.2f} s"


def _whole(text: str) -> Any:
    """Markup in which a short value with a hyphen, such as 2-1.0, does not break at it."""
    return _marked(_HYPHENATED.split(line(text)), markupsafe.Markup('<span class="whole">{}</span>'))


def _code(text: str) -> Any:
    """Markup in which text between backticks is code."""
    return _marked(text.split("`"), markupsafe.Markup("<code>{}</code>"))


def _marked(pieces: Sequence[str], element: markupsafe.Markup) -> Any:
    """Markup of pieces, of which every other one is in an element."""
    marked = (element.format(piece) if number % 2 else piece for number, piece in enumerate(pieces))
    return markupsafe.Markup().join(marked)


def _some(names: Sequence[str]) -> str:
    """The first few of many names."""
    shown = ", ".join(map(shorten, names[:_MOST_NAMES]))
    return f"{shown} and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else shown


def _lines(lines: tuple[int, ...]) -> str:
    """Such as "lines 12, 13"; empty if there is none."""
    return f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}" if lines else ""


def environment(*packages: str) -> jinja2.Environment:
    """Make the environment of the templates in `assets/` of packages; the first that has a name wins.

    Pages need no network; text is escaped, made visible, and stripped of passwords.
    """
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.FunctionLoader(partial(_template, name)) for name in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: line(value) if type(value) is str else value,  # as the page shows it
    )
    made.filters["lines"] = lambda lines: markupsafe.escape(message(*lines))  # for a `pre`
    return made


def asset(package: str, name: str) -> str:
    """Read a text file in `assets/` of a package."""
    return (importlib.resources.files(package) / "assets" / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Return a Content-Security-Policy source that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _template(package: str, name: str) -> str | None:
    try:
        return asset(package, name)
    except FileNotFoundError:
        return None
