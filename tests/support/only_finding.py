"""The one finding of a literal history."""

from __future__ import annotations

from checkers.vocabulary.verdict import Finding
from tests.support.literal_histories import judged


def only_finding(name: str) -> Finding:
    (finding,) = judged(name).findings
    return finding
