"""Double-run: a job that must run once ran twice.

Two executions of one job are a double-run iff the second began before the first had certainly ended, or
after the queue had acknowledged the end of the first. `executions` says when an execution has certainly
ended. The first is the one that was called first; of two that were called at the same time, the one that
ended first.

An execution after one that failed, or whose worker died, is a retry, and no double-run. If the end of the
first one is unknown, it is believed only as far as it was seen, so no correct queue is accused of
a retry. A queue that gives a job to another worker when a lease ends is accused if the
first worker was still executing: its promise was to run the job once.

Of all that prove that an execution should not have begun, one that it overlaps leads, then the latest.

Each job is judged in one pass over its executions, in their order. Those that may overlap a later one are
in a stack, with falling ends: one that ended no later than a later one proves nothing more. The ends
that were acknowledged wait in a heap for the first execution that began after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, step
from checkers.explain.telling import fault_steps, in_time_order
from checkers.facts.evidence import Evidence
from checkers.facts.executions import Execution, executions_of
from checkers.history.faults import client_of
from checkers.history.records import Op, Outcome


def double_runs(evidence: Evidence) -> Iterator[Conflict]:
    """Yield each execution that should not have begun, because of the one that shows it best."""
    for executions in executions_of(evidence).values():
        yield from _of_job(executions)


def _of_job(executions: Sequence[Execution]) -> Iterator[Conflict]:
    running: list[Execution] = []
    ending: list[tuple[int, int]] = []  # when an end was acknowledged, and the place of its execution
    acknowledged = -1  # the last place of those whose end was acknowledged before
    for place, each in enumerate(executions):
        while running and running[-1].end <= each.op.called:
            running.pop()
        while ending and ending[0][0] < each.op.called:
            acknowledged = max(acknowledged, heappop(ending)[1])
        if running:
            yield STILL_RUNNING.conflict(each.op, running[-1].op, running[-1].seen)
        elif acknowledged >= 0:
            yield ACKNOWLEDGED.conflict(each.op, executions[acknowledged].op)
        while running and running[-1].end <= each.end:
            running.pop()
        running.append(each)
        if each.op.outcome is Outcome.OK:
            heappush(ending, (each.op.returned or 0, place))


def _still_running(n: Narrator, conflict: Conflict) -> Story:
    again, first = conflict.accused, conflict.because[0]
    cause = _cause(n, first, again)
    since, begun = n.at(first.called), n.at(again.called)
    if n.whom(first) == n.whom(again):
        twice = f"was still at it when it began it again at {begun}"
    else:
        twice = f"was still at it when {n.whom(again)} began it at {begun}"
    return Story(
        summary=f"the job {first.job} ran twice: {n.whom(first)} began it at {since} and {twice}",
        steps=(
            _began(n, first),
            *fault_steps(n, cause),
            _was_in_progress(n, *conflict.because),
            _began(n, again),
            step(f"So at {begun} two executions of {first.job}, which must run once, overlap.", first, again),
        ),
        sentences=in_time_order(
            n,
            cause,
            (first.called, f"{n.who(first)} began {first.job} at {since}."),
            (again.called, f"{n.who(again)} began it at {begun}, while {n.whom(first)} was still at it."),
        ),
        cause=cause,
    )


def _acknowledged(n: Narrator, conflict: Conflict) -> Story:
    again, first = conflict.accused, conflict.because[0]
    returned = first.returned or 0
    cause = _cause(n, first, again)
    begun, later = n.at(again.called), n.lasting(again.called - returned)
    return Story(
        summary=(
            f"the job {first.job} ran again {later} after its end had been acknowledged:"
            f" {n.whom(again)} began it at {begun}"
        ),
        steps=(
            _began(n, first),
            step(f"The queue acknowledged its end to {n.whom(first)} {n.answered(first)}.", first),
            *fault_steps(n, cause),
            _began(n, again),
            step(f"So {first.job}, which must run once, ran again {later} after its end.", first, again),
        ),
        sentences=in_time_order(
            n,
            cause,
            (
                returned,
                f"{n.who(first)} executed {first.job}, and the end was acknowledged at {n.at(returned)}.",
            ),
            (again.called, f"{n.who(again)} began it at {begun}, {later} later."),
        ),
        cause=cause,
    )


def _began(n: Narrator, execution: Op) -> Step:
    attempt = "" if execution.token is None else f", as attempt {execution.token}"
    return step(f"{n.who(execution)} began {execution.job} {n.sent(execution)}{attempt}.", execution)


def _was_in_progress(n: Narrator, first: Op, heartbeat: Op | None = None) -> Step:
    """Say until when an execution was in progress, and how that is known."""
    if heartbeat is not None:
        known = f"its program was still executing {n.sent(heartbeat)}, when it answered a heartbeat"
        return step(f"Its end is unknown, but {known}.", heartbeat)
    ended = n.at(first.ended or 0)
    return step(f"Its program reported its end only at {ended} (line {first.lines[-1]}).", first)


def _cause(n: Narrator, first: Op, again: Op) -> Cause | None:
    """Return the fault that made a worker late, or else one on the queue.

    An older attempt that began later was late itself, and so was an execution that began within a lease of a
    fault in which the end of the first was acknowledged: its worker may have got the job before. Otherwise
    the first execution was late, unless its end was acknowledged: by a fault that was in force when the job
    ran again, or had lasted for a lease.
    """
    began_late = None not in {first.token, again.token} and (again.token or 0) < (first.token or 0)
    was_over = first.outcome is Outcome.OK and first.over < again.called
    late, ttl = again if began_late or was_over else first, n.history.header.ttl
    worker = client_of(late.process, n.history.header)
    for fault in n.faults_on(f"client:{worker}", first.called, again.called):
        if began_late:
            return Cause(fault=fault)
        if was_over:
            is_cause = fault.overlaps(first.over, first.over) and again.called <= fault.healed + (ttl or 0)
        else:
            is_long = ttl is not None and fault.healed - fault.began >= ttl
            is_cause = fault.healed >= again.called or is_long
        if is_cause:
            return Cause(fault=fault)
    fault_on_queue = n.fault_on_queue(first.called, again.called)
    return None if fault_on_queue is None else Cause(fault=fault_on_queue)


# because: the execution that was in progress, the heartbeat that shows it (if its end does not)
STILL_RUNNING = Breach("double-run", "still-running", _still_running)
# because: the execution whose end was acknowledged
ACKNOWLEDGED = Breach("double-run", "acknowledged", _acknowledged)

CHECKER = Checker("double-run", "observed", double_runs)
