"""What follows the headline of a run: why it matters, and what to do."""

from __future__ import annotations

from checkers.vocabulary.reasons import ReasonKind

RUN_MORE = "Nothing to fix. A run is a test, not a proof: repeat it with other seeds and faults."
RUN_OTHER_SEEDS = "Nothing to fix. A run is a test, not a proof: repeat it with other seeds."
NO_FAULT = "No fault was counted"
COUNT_A_FAULT = "Run longer, or with other faults; -v says what became of each fault's windows."
NOTHING_TRIED = (
    "No fault hit a client that held the lock: the run says nothing about the faults of this target."
)
RUN_TO_THE_END = "Run it again and let it finish."
FENCED = (
    "A client that lost its lock cannot overwrite its successor's data, at least under the faults of this"
    " run."
)
UNFENCED = "No stale write was attempted, and this run required none: it says nothing about a fence."
IN_ORDER = "one order of the operations explains every answer"
NO_LOCK = "There is no lock in this history: it says nothing about one, nor about a fence."
NO_JOB_TWICE = "No job ran twice, and none was lost, at least under the faults of this run."
LEASE_KEPT = "This is not a pass: a queue that gives a job away while it runs would have looked the same."
EXERCISE_JOBS = "Run longer, or with faults, such as a pause of a worker for longer than the lease."
NONE_REFUSED = (
    "A stale write was attempted, but none is known to have been refused: the run says nothing about a fence."
)
NO_FENCE_SEEN = "This is not a pass: a storage without any fence would have looked the same."
NOT_ALL = "This is not a pass: the run did not do all that this target requires."
NOT_JUDGED = "The run could not be judged: this is not a pass."
EXERCISE_IT = "Run longer, or with faults, such as a pause of the holder before its write."
EXERCISE_IT_MORE = "Run longer: set workload.duration to more. Other faults may help too."
EXERCISE_IT_WITH_FAULTS = "Leave out --no-faults to test the fence."
FIND_IT = "Run it longer, with other seeds, or with faults that hit the faulty code."
FIND_IT_WITH_FAULTS = "Leave out --no-faults: the bug may need the faults of this target."
UNDECIDED = {
    ReasonKind.CRASHED: "A checker that crashes is a bug in Fencepost: report it, with the run's folder.",
    ReasonKind.NOT_COUNTED: "This is a bug in Fencepost: report it, with the run's folder.",
    ReasonKind.CUT_SHORT: "Run it again: what is missing from the history cannot be recovered.",
    ReasonKind.NO_ORDER: "Run it again, to its end: that order is read once the clients stop.",
    ReasonKind.NO_PLAN: "Restore plan.json, or run it again.",
}
"""What to do about each kind of reason that leaves a run undecided."""
