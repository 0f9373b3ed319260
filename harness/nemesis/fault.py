"""A fault is in force once it was observed, not once it was asked for."""

from dataclasses import dataclass


@dataclass(slots=True)
class Fault:
    """A fault that was observed in force; `healed` holds what proved its end, once it was seen."""

    kind: str
    target: str
    evidence: str
    since: int | None = None  # ns, CLOCK_MONOTONIC; when it was seen first, if the whole proof took longer
    until: int | None = None  # ns; when it was ended, if that was seen only later
    healed: str = ""
