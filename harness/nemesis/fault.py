"""A fault is in force once it was observed, not once it was asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that was observed in force."""

    kind: str
    target: str
    evidence: str
