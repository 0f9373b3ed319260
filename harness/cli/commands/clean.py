"""`fencepost clean`."""

from __future__ import annotations

import click

from harness.cli.output import print_sweep
from harness.core.printing import show


@click.command(short_help="Remove what killed runs left behind.")
def clean() -> None:
    """Remove what killed runs left behind: processes, containers, networks. Run folders stay."""
    from harness.engines.cleanup import clean as remove

    swept = remove()
    print_sweep(swept)
    if not swept.removed and not swept.kept and not swept.notices:
        show("nothing to clean up")
