"""Reports: a run, shown to people."""

from harness.report.run import write

__all__ = ["write"]
