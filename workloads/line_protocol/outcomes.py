"""What the outcome in a program's answer means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checkers.history.records import UNUSABLE
from checkers.text.printable import quoted, shorten
from workloads.client import STALE, NotApplied, Stale, Unknown
from workloads.line_protocol.messages import ProgramLine

_OUTCOMES = "there are: ok, failed, stale (of write and fence), unknown, unsupported"
_FENCED = ("write", "fence")  # requests that a fence can reject


class Unsupported(NotApplied):
    """The program does not know this request."""

    def __init__(self) -> None:
        super().__init__("the program does not support it")


def _why(reason: str) -> str:
    """Return the reason of a program; its word "stale" is not the fence's."""
    said = shorten(reason.strip())
    return f"it said {quoted(said)}" if said == STALE else said or "the program gave no reason"


def settled(op: str, answer: ProgramLine, carried: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an ok; raise Stale, NotApplied or Unknown for any other outcome."""
    match answer.outcome:
        case "ok":
            return carried
        case "stale" if op in _FENCED:
            raise Stale
        case "failed":
            raise NotApplied(_why(answer.reason))
        case "unsupported":
            raise Unsupported
        case "unknown":
            raise Unknown(shorten(answer.reason) or "the program does not know")
        case None:
            raise Unknown(f"{UNUSABLE}no outcome in its answer to {op}; {_OUTCOMES}")
    raise Unknown(f"{UNUSABLE}outcome {quoted(answer.outcome)} in its answer to {op}; {_OUTCOMES}")
