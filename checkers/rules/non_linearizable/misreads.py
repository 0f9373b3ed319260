"""Non-linearizable: a read that no write explains.

Written values are unique, so a read belongs to one write. It is wrong if no client wrote that value there, if
it was written with another token, or if it was written only after the read had returned. It is also wrong if
the write is missing from the log, was never acknowledged, and cannot have been undone by a restart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.cycles import Question, cycle
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, step
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.missing import missing
from checkers.text.printable import content


def misreads(zones: ZoneColumns) -> Iterator[Conflict]:
    """Yield reads of a value not written, not with that token, or not yet, in the order of their calls."""
    found: dict[int, tuple[Breach, list[int]]]
    found = {row: (UNWRITTEN, []) for row in zones.unwritten_reads.tolist()}
    for breach, pair in ((WRONG_TOKEN, zones.wrong_token_reads), (READ_EARLY, zones.early_reads)):
        found |= {row: (breach, [write]) for row, write in np.column_stack(pair).tolist()}
    for row in sorted(found):
        breach, writes = found[row]
        yield breach.conflict(zones.ops[row], *(zones.ops[write] for write in writes))


def reads_not_logged(evidence: Evidence) -> Iterator[Conflict]:
    """Yield reads of a value that the log lacks."""
    known = missing(evidence)
    for row in known.contradicted.tolist():
        yield READ_BUT_NOT_LOGGED.conflict(known.readers[row], zones_of(evidence).ops[row])


def _unwritten(n: Narrator, conflict: Conflict) -> Story:
    read, what = conflict.accused, content(conflict.accused.value)
    got, never = f"{what}{n.with_token(read)}", f"No write of {what} to {read.resource} was ever called"
    return Story(
        summary=f"{n.whom(read)} read {got} from {read.resource}, which no client had written there",
        steps=(
            step(f"{n.who(read)} read {got} {n.answered(read)}.", read),
            step(f"{never}, and it is not the initial value.", read),
        ),
        others=tuple(op for op in [n.index.writer(read)] if op is not None),
        sentences=(
            f"{n.who(read)} read {what} from {read.resource}.",
            "No client had written that there, and it had not been there before the run.",
        ),
    )


def _wrong_token(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    what, token = content(read.value), f"with token {read.token}"
    written = f"with token {write.token}"
    return Story(
        summary=f"{n.whom(read)} read {what} from {read.resource} {token}, but it was written {written}",
        steps=(
            n.sent_step(write),
            step(
                f"{n.who(read)} read {what} {token} {n.answered(read)}, but each value is written once: this"
                " value and this token do not belong together.",
                read,
            ),
        ),
        sentences=(
            f"{n.who(write)} wrote {content(write.value)} to {write.resource} {written}.",
            f"{n.who(read)} read it {token}: value and token do not belong together.",
        ),
    )


def _read_early(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    got = f"read {content(read.value)} from {read.resource}"
    question = Question(proof=conflict.proof, fenced=False, accused=read)
    return Story(
        summary=f"{n.whom(read)} {got} before it was written",
        steps=cycle(n, question, f"{content(write.value)} cannot be read before it is written"),
        sentences=(
            f"{n.who(read)} {got} at {n.at(read.called)}.",
            f"{n.who(write)} sent it only at {n.at(write.called)}.",
        ),
    )


def _read_but_not_logged(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    why = " in order to append to it" if read.f == "append" else ""
    got = f"read {content(write.value)} from {read.resource}"
    return Story(
        summary=f"{n.whom(read)} {got}{why}, which the storage's own order of writes does not have",
        steps=(
            n.sent_step(write),
            step(f"{n.who(read)} read it{why} {n.answered(read)}, so it took effect.", read),
            step(f"But it is {n.place(write)}, which has every write that was stored.", write),
        ),
        sentences=(
            f"{n.who(read)} {got}, so it was stored.",
            "The storage's own order of writes does not have it.",
        ),
    )


UNWRITTEN = Breach("non-linearizable", "unwritten", _unwritten)
# because: the write
WRONG_TOKEN = Breach("non-linearizable", "wrong-token", _wrong_token)
# because: the write
READ_EARLY = Breach("non-linearizable", "read-early", _read_early)
# because: the write
READ_BUT_NOT_LOGGED = Breach("non-linearizable", "read-but-not-logged", _read_but_not_logged)

CHECKER = Checker(
    "reads-not-logged", "committed", reads_not_logged, ("non-linearizable",), compares_only=True
)
