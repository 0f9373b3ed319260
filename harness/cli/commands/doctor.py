"""`fencepost doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import RUNS
from harness.core.exit_codes import ExitCode
from harness.core.printing import show


@click.command(short_help="Check this machine: engines and tools.")
@RUNS
def doctor(runs: Path) -> int:
    """Check this machine: engines and tools, and how to install what is missing."""
    from harness.cli.diagnostics import can_run, examine

    findings = examine(runs)
    widest = max(len(finding.name) for finding in findings)
    for finding in findings:
        show(f"{'ok' if finding.ok else 'NO':<3} {finding.name:<{widest}}  {finding.seen}")
        if finding.remedy:
            show(f"{'':<{widest + 4}}  {finding.remedy}")
    return ExitCode.AS_EXPECTED if can_run(findings) else ExitCode.INFRASTRUCTURE
