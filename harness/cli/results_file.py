"""The file of --history, as a command opens it."""

from __future__ import annotations

from pathlib import Path

from harness.campaign.results import Results
from harness.core.printing import say


def opened(file: Path) -> Results:
    """Open the results of all nights, and say if other users can change them."""
    results = Results(file)
    if results.exposed:
        say(results.exposed)
    return results
