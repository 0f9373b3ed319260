"""`fencepost targets`."""

from __future__ import annotations

import click

from harness.cli.options import FORMATS
from harness.cli.output import described


@click.command()
@click.option("--format", "output", default="text", type=FORMATS, help="json: one list, on stdout.")
def targets(output: str) -> None:
    """List the shipped targets."""
    import json

    from harness.target import load, shipped

    rows = [(name, path, load(path)) for name, path in shipped().items()]
    if output == "json":
        listed = [
            {"name": name, "path": str(path), "expect": list(target.expected) or "valid"}
            for name, path, target in rows
        ]
        click.echo(json.dumps(listed, indent=1))
        return
    widest = max(len(name) for name, _, _ in rows)
    for name, _, target in rows:
        click.echo(f"{name:<{widest}}  {described(target)}")
