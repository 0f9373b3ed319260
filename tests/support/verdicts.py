"""Verdict documents: a test gives only the fields that matter to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from checkers.vocabulary.document import FindingDocument, VerdictDocument
from checkers.vocabulary.reasons import Reason
from checkers.vocabulary.verdict import reasons_of

Fields = Mapping[str, Any]

_FINDING: Fields = {"anomaly": "stale-write", "resource": "r0", "summary": "!", "operations": [], "steps": []}
_VERDICT: Fields = {
    "schema": 1,
    "verdict": "valid",
    "expected": "valid",
    "as_expected": True,
    "reasons": [],
    "anomalies": {},
    "coverage": {},
    "checkers": [],
}


def finding_of(fields: Fields) -> FindingDocument:
    """A finding with these fields."""
    return msgspec.convert({**_FINDING, **fields}, FindingDocument)


def verdict_of(fields: Fields) -> VerdictDocument:
    """A verdict with these fields, and the kinds of its reasons; its findings may be partial, too."""
    reasons: list[Any] = list(fields.get("reasons", ()))
    typed = reasons_of(reasons) if all(isinstance(each, Reason) for each in reasons) else {}
    found = {name: list(map(finding_of, fields.get(name, ()))) for name in ("findings", "counted")}
    return msgspec.convert({**_VERDICT, **fields, **typed, **found}, VerdictDocument)
