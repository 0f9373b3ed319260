"""All that Fencepost prints: lines of text, documents of JSON, and text that is data itself.

No other module prints, so no text of a stranger reaches a terminal or the log of a CI server unescaped.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

import click


def say(*lines: str) -> None:
    """Print lines on stderr, each of them escaped."""
    from checkers.text.printable import message

    click.echo(message(*lines), err=True)


def show(*lines: str, to: TextIO | None = None) -> None:
    """Print lines on a stream, stdout unless another is named, each of them escaped."""
    from checkers.text.printable import message

    click.echo(message(*lines), file=to)


def show_document(document: object, indent: int | None = None) -> None:
    """Print a document on stdout as JSON, by default in one line."""
    from msgspec import to_builtins

    from checkers.text.printable import as_json

    click.echo(as_json(to_builtins(document), indent))


def pass_on(chunks: Iterable[str], to: TextIO | None = None) -> None:
    """Print what is not to be read, escaped as its format demands: a schema, a history, commands for CI."""
    (to or sys.stdout).writelines(chunks)
