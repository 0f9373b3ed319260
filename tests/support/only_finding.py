"""The one finding of a literal history."""

from __future__ import annotations

import checkers
from tests.support.literal_histories import judged


def only_finding(name: str) -> checkers.Finding:
    (finding,) = judged(name).findings
    return finding
