"""Why a run tested no fence: too little happened, or nothing that happened could have tested it."""

from __future__ import annotations

from dataclasses import dataclass

NOT_EXERCISED = "not exercised: "
"""How each of these reasons begins."""
RUN_LONGER = "run longer, or with faults"
NO_FAULTS = "it was run with --no-faults"


@dataclass(frozen=True, slots=True)
class Untestable:
    """Why no fault could have tested the fence, and what to do."""

    why: str
    remedy: str

    @property
    def reason(self) -> str:
        """The reason in a verdict."""
        return f"{NOT_EXERCISED}{self.why}: {self.remedy}"


NO_GRANT = Untestable(
    "the lock was never granted, so there was no holder to test",
    "find out why from what its clients were answered, as a note of this run and its logs say",
)
NO_TOKEN = Untestable(
    "the lock gave no fencing token, so the fence could not be challenged",
    'use a lock that gives one, or set storage.fencing and lock.token to "none" to see which writes come too'
    " late",
)
UNTESTABLE = (NO_GRANT, NO_TOKEN)
"""All of these."""
