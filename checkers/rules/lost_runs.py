"""Lost-run: a job that was accepted and due never began, although a worker was idle.

`idle_workers` says when a job is lost. Any doubt about whether it began, or whether a worker was idle, clears
the queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Story, step
from checkers.explain.telling import fault_steps, in_time_order
from checkers.facts.evidence import Evidence
from checkers.facts.idle_workers import LostJob, lost_jobs, patience


def lost_runs(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the submit of each job that never began, with a take in which a worker was idle for too long."""
    return (NEVER_BEGAN.conflict(each.submit, each.idle.take) for each in lost_jobs(evidence).values())


def _never_began(n: Narrator, conflict: Conflict) -> Story:
    submit = conflict.accused
    lost = lost_jobs(n.evidence)[submit.index]
    job, take, header = submit.job, lost.idle.take, n.history.header
    since = max(lost.idle.start, lost.available)
    waited = n.lasting(lost.idle.end - since)
    cause = _cause(n, lost)
    due = "at once" if (submit.due or 0) <= submit.called else f"at {n.at(submit.due or 0)}"
    when = f"was due at {n.at(submit.due or 0)}"
    if lost.available > (submit.due or 0):
        when = f"was acknowledged at {n.at(lost.available)}"
    return Story(
        summary=(
            f"the job {job} {when} and never began, though {n.whom(take)} was idle for {waited} after that"
        ),
        steps=(
            step(
                f"{n.who(submit)} submitted {job}, due {due}, and the queue acknowledged it"
                f" {n.answered(submit)}.",
                submit,
            ),
            *fault_steps(n, cause),
            step(
                f"{n.who(take)} asked for a job {n.sent(take)}, and had to wait until"
                f" {n.at(lost.idle.end)} at least.",
                take,
            ),
            step(
                f"Between {n.at(since)} and {n.at(lost.idle.end)} no fault was in force on {n.whom(take)},"
                " on a server, or on another worker that waited for a job."
            ),
            step(
                f"That is longer than a lease ({n.lasting(header.ttl or 0)}) plus the time that the queue may"
                f" take ({n.lasting(header.grace)}): {n.lasting(patience(header))}."
            ),
            step(f"Nobody began {job}, and no worker got it: it was lost.", submit),
        ),
        sentences=in_time_order(
            n,
            cause,
            (submit.called, f"{n.who(submit)} submitted {job}, which {when}."),
            (since, f"{n.who(take)} was idle from {n.at(since)} to {n.at(lost.idle.end)}, and never got it."),
        ),
        cause=cause,
    )


def _cause(n: Narrator, lost: LostJob) -> Cause | None:
    """Return the fault on the queue's servers after which the job may have been gone."""
    fault = n.fault_on_queue(lost.submit.called, lost.idle.start)
    return None if fault is None else Cause(fault=fault)


# because: the take in which a worker was idle
NEVER_BEGAN = Breach("lost-run", "never-began", _never_began)

CHECKER = Checker("lost-run", "observed", lost_runs)
