"""`fencepost schema`."""

from __future__ import annotations

import click

from harness.core.printing import pass_on

DOCUMENTS = ("target", "history", "commits", "verdict", "bench", "campaign-file", "campaign")


@click.command(short_help="Print a JSON Schema.")
@click.argument("document", default="target", type=click.Choice(DOCUMENTS))
def schema(document: str) -> None:
    """Print the JSON Schema of target files, campaign files, or of what a run or a campaign writes."""
    from harness.cli.schemas import schemas, written

    pass_on([written(schemas()[document])])
