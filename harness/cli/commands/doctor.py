"""`fencepost doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import RUNS
from harness.core.exit_codes import ExitCode


@click.command(short_help="Check this machine: engines and tools.")
@RUNS
def doctor(runs: Path) -> int:
    """Check this machine: engines and tools, and how to install what is missing."""
    from checkers.printable import printable
    from harness.cli.diagnostics import can_run, examine

    findings = examine(runs)
    widest = max(len(finding.name) for finding in findings)
    for finding in findings:
        click.echo(f"{'ok' if finding.ok else 'NO':<3} {finding.name:<{widest}}  {printable(finding.seen)}")
        if finding.remedy:
            click.echo(f"{'':<{widest + 4}}  {printable(finding.remedy)}")
    return ExitCode.AS_EXPECTED if can_run(findings) else ExitCode.INFRASTRUCTURE
