"""Reports: a run, shown to people."""

from harness.report.run import write
from harness.report.show import show

__all__ = ["show", "write"]
