"""`fencepost schema`."""

from __future__ import annotations

import click


@click.command(short_help="Print a JSON Schema.")
@click.argument("document", default="target", type=click.Choice(["target", "history", "commits", "verdict"]))
def schema(document: str) -> None:
    """Print the JSON Schema of target files, or of a file in a run folder."""
    from harness.cli.schemas import schemas, written

    click.echo(written(schemas()[document]), nl=False)
