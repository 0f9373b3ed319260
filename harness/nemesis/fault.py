"""A fault: in force once it was observed, not once it was requested."""

from dataclasses import dataclass


@dataclass(slots=True)
class Fault:
    """A fault that was observed in force; `healed` is the evidence of its end, once observed."""

    kind: str
    target: str
    evidence: str
    since: int | None = None  # ns, CLOCK_MONOTONIC; when it was first observed, if the proof took longer
    until: int | None = None  # ns; when it was ended, if that was observed later
    healed: str = ""
    left_behind: tuple[int, ...] = ()  # clients that still reach the old primary after a failover
    ends: bool = True  # False: it cannot be healed, such as the kill of a client
