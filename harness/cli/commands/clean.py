"""`fencepost clean`."""

from __future__ import annotations

import click

from harness.cli.output import print_sweep
from harness.core.printing import show


@click.command(short_help="Remove what killed runs left behind.")
@click.option("--columns", is_flag=True, help="Also remove the cached columns of long histories.")
def clean(*, columns: bool) -> None:
    """Remove what killed runs left behind: processes, containers, networks. Run folders stay."""
    from harness.engines.cleanup import Sweep
    from harness.engines.cleanup import clean as remove

    swept = remove()
    if columns:
        from harness.files import column_folder

        if freed := column_folder.remove():
            swept += Sweep(removed=(freed,))
    print_sweep(swept)
    if not swept.removed and not swept.kept and not swept.notices:
        show("nothing to clean up")
