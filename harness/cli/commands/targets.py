"""`fencepost targets`."""

from __future__ import annotations

import click

from harness.cli.options import format_option
from harness.cli.output import described
from harness.core.printing import show, show_document


@click.command()
@format_option("one list, on stdout.")
def targets(output: str) -> None:
    """List the shipped targets."""
    from harness.spec import load, shipped

    rows = [(name, path, load(path)) for name, path in shipped().items()]
    if output == "json":
        listed = [
            {"name": name, "path": str(path), "expect": list(target.expected) or "valid"}
            for name, path, target in rows
        ]
        show_document(listed, indent=1)
        return
    widest = max(len(name) for name, _, _ in rows)
    for name, _, target in rows:
        show(f"{name:<{widest}}  {described(target)}")
