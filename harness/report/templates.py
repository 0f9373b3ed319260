"""Templates of pages that need no network: text is escaped, made visible, and stripped of passwords."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Sequence
from functools import partial
from typing import Any

import jinja2
import markupsafe

from checkers.text.printable import line, message


def environment(*packages: str) -> jinja2.Environment:
    """Make the environment of the templates in `assets/` of packages; the first that has a name wins."""
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.FunctionLoader(partial(_template, package)) for package in packages]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_seen,
    )
    made.filters["lines"] = _lines
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


def _seen(value: Any) -> Any:
    """A text as the page shows it: shortened, with invisible characters escaped."""
    return line(value) if type(value) is str else value


def _lines(lines: Sequence[str]) -> Any:
    """Markup of several lines, for a `pre`."""
    return markupsafe.escape(message(*lines))
