"""Findings in plain words: one sentence, the operations that prove it, and why they do.

The steps are in the order of their reasons and end in the contradiction. Times
are in seconds since the first event of the history, lines are those of its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from checkers.conflict import Conflict, Rule
from checkers.coverage import is_client
from checkers.evidence import Evidence
from checkers.faults import Fault, faults_of
from checkers.leases import ENDS, promised_until
from checkers.records import Op, Outcome
from checkers.verdict import Finding

_SECOND = 1_000_000_000  # ns
_MOST_STEPS = 6
_MOST_LINES = 6


def findings(evidence: Evidence, conflicts: Iterable[Conflict]) -> Iterator[Finding]:
    """Tell each conflict."""
    narrator = Narrator(evidence)
    for conflict in conflicts:
        yield narrator.tell(conflict)


@dataclass(frozen=True, slots=True)
class Story:
    """What a rule's breach comes to in words, and the operations it rests on."""

    summary: str
    steps: tuple[str, ...]
    proof: tuple[Op, ...]


class Narrator:
    """Knows the run that conflicts are told of."""

    def __init__(self, evidence: Evidence) -> None:
        self._history = evidence.history
        self._log = evidence.log
        self._faults = faults_of(evidence.history.faults)
        self._grants = {
            (op.resource, op.token): op
            for op in reversed(evidence.history.operations)
            if op.f == "acquire" and op.outcome is Outcome.OK
        }

    def tell(self, conflict: Conflict) -> Finding:
        """Put a conflict into words."""
        story = _TOLD[conflict.rule](self, conflict)
        return Finding(
            anomaly=conflict.anomaly,
            resource=conflict.accused.resource,
            summary=story.summary,
            operations=_lines(story.proof),
            steps=tuple(story.steps[-_MOST_STEPS:]),
            accused=conflict.accused.index,
        )

    # words

    def at(self, time: float) -> str:
        """A moment, in seconds since the start."""
        return f"{(time - self._history.started) / _SECOND:.3f} s"

    def sent(self, op: Op) -> str:
        """When an operation was called, and where that is written."""
        return f"at {self.at(op.called)} (line {op.lines[0]})"

    def answered(self, op: Op) -> str:
        """When an operation returned, and where that is written."""
        if op.learned is None or len(op.lines) == 1:
            return f"never, as far as was recorded (line {op.lines[0]})"
        return f"at {self.at(op.learned)} (line {op.lines[-1]})"

    def place(self, write: Op) -> str:
        """Where a write stands in the storage's own order."""
        if self._log is None or write.index not in self._log.places:
            return "nowhere in the storage's own order"
        commit = self._log.commits[self._log.places[write.index][-1]]
        return f"number {commit.seq}"

    # steps

    def granted(self, resource: str, token: int | None) -> tuple[Op, ...]:
        """The acquire that was given this token."""
        grant = self._grants.get((resource, token))
        return () if grant is None else (grant,)

    def grant_steps(self, *grants: Op) -> list[str]:
        """Who was given which token when."""
        return [
            f"{_who(grant)} was granted the lock on {grant.resource} with token {grant.token}"
            f" {self.answered(grant)}."
            for grant in grants
        ]

    def acceptance(self, proof: tuple[Op, ...]) -> str:
        """Why a write was surely there: its own ok, or a read that returned it."""
        by = proof[-1]
        if by.f == "read":
            return (
                f"A read by {_whom(by)} returned {by.value!r} with token {by.token}"
                f" {self.answered(by)}, so that write had been accepted by then."
            )
        if by.f == "fence":
            return (
                f"The storage acknowledged to {_whom(by)} a fence with token {by.token}"
                f" {self.answered(by)}: from then on, older tokens had to be refused."
            )
        return (
            f"{_who(by)} wrote {by.value!r} with token {by.token}, and the storage said ok"
            f" {self.answered(by)}."
        )

    def ending(self, op: Op) -> str:
        """What the client was told in the end."""
        if op.outcome is Outcome.OK:
            return f"The storage accepted it {self.answered(op)}"
        if op.outcome is Outcome.FAIL:
            return f"Its client was told that it had failed ({op.error}) {self.answered(op)}"
        return f"Its client heard no answer that it could rely on ({op.error or 'none came'})"

    def fault_steps(self, op: Op) -> list[str]:
        """The fault that held up the holder behind a write, between its grant and the write's end."""
        grant = next(iter(self.granted(op.resource, op.token)), None)
        start = op.called if grant is None else (grant.returned or grant.called)
        end = op.called if op.learned is None else op.learned
        return [
            self._fault(fault)
            for fault in self._faults
            if fault.overlaps(start, end) and self._hit(fault, op, grant)
        ][:1]

    def lease(self, grant: Op) -> float:
        """Until when a hold was promised, in ns."""
        of_owner = [op for op in self._history.operations if op.owner == grant.owner]
        own = [op for op in of_owner if op.resource == grant.resource]
        renews = (op for op in own if op.f == "renew")
        return promised_until(grant, renews, (op for op in own if op.f in ENDS)).end

    def _hit(self, fault: Fault, op: Op, grant: Op | None) -> bool:
        if fault.owner is not None:
            return grant is not None and fault.owner == grant.owner
        return fault.client is None or is_client(op.process, fault.client, self._history.header)

    def _fault(self, fault: Fault) -> str:
        lines = " and ".join(str(line) for line in fault.lines)
        number = "" if len(fault.lines) == 1 else "s"
        until = "the end of the record" if len(fault.lines) == 1 else self.at(fault.healed)
        target = fault.target.replace(":", " ")
        what = {
            "pause": f"{target} was stopped",
            "partition": f"{target} was cut off",
            "kill": f"{target} was killed",
        }.get(fault.kind, f"{fault.kind} of {target} was in force")
        return f"Meanwhile {what} from {self.at(fault.began)} to {until} (line{number} {lines})."


def _who(op: Op) -> str:
    return f"Process {op.process}"


def _whom(op: Op) -> str:
    return f"process {op.process}"


def _lines(proof: Iterable[Op]) -> tuple[int, ...]:
    """The lines that prove it: whole operations while they fit, else their answers alone."""
    unique = dict.fromkeys(proof)
    lines = sorted({line for op in unique for line in op.lines})
    if len(lines) > _MOST_LINES:
        lines = sorted({op.lines[-1] for op in unique} | set(list(unique)[-1].lines))
    return tuple(lines[-_MOST_LINES:])


def _stale(n: Narrator, write: Op, newer: tuple[Op, ...], ending: str, *proof: Op) -> Story:
    """A stale write: who held the lock, what held it up, who came between, what happened."""
    higher = next(op for op in newer if op.token is not None)
    by = newer[0]
    successor = n.granted(write.resource, higher.token)
    same = higher.token == write.token
    relation = "the same" if same else "the newer"
    what = f"accepted {by.value!r}" if by.f == "write" else "been fenced"
    steps = [
        *n.grant_steps(*n.granted(write.resource, write.token)),
        *n.fault_steps(write),
        *([] if same else n.grant_steps(*successor)),
        n.acceptance(newer),
        (
            f"{_who(write)} sent {write.value!r} with {'the same' if same else 'the older'}"
            f" token {write.token} {n.sent(write)}."
        ),
        ending,
    ]
    return Story(
        summary=(
            f"{_whom(write)} wrote {write.value!r} with token {write.token} to {write.resource}"
            f" after the storage had {what} with {relation} token {higher.token}"
        ),
        steps=tuple(steps),
        proof=(*([] if same else successor), *newer, *proof, write),
    )


def _sent_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    ending = (
        f"{n.ending(write)}, and it took effect, although token {write.token} is"
        f" {_not_above(write, conflict.because[0])}: a storage that fences refuses it."
    )
    return _stale(n, write, conflict.because, ending)


def _not_above(write: Op, newer: Op) -> str:
    return f"below {newer.token}" if write.token != newer.token else "one that had been used"


def _seen_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    *newer, read = conflict.because
    ending = (
        f"A read by {_whom(read)}, called after that {n.sent(read)}, returned {read.value!r}:"
        f" so the write with the older token {write.token} took effect after the one with"
        f" token {newer[0].token} and overwrote it."
    )
    return _stale(n, write, tuple(newer), ending, read)


def _logged_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    ending = (
        f"{n.ending(write)}. In the storage's own order {newer.value!r} is {n.place(newer)} and"
        f" {write.value!r} is {n.place(write)}: token {write.token} after token {newer.token}."
    )
    return _stale(n, write, (newer,), ending)


def _same_token_twice(n: Narrator, conflict: Conflict) -> Story:
    write, other = conflict.accused, conflict.because[0]
    ending = (
        f"{n.ending(write)}. Both took effect, and whichever came second used a token that had"
        " been used: a strict fence lets one write through for each token."
    )
    return _stale(n, write, (other,), ending)


def _below_the_start(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    start = n._history.header.initial_token  # noqa: SLF001 - words of one module
    return Story(
        summary=(
            f"{_whom(write)} wrote {write.value!r} with token {write.token} to {write.resource},"
            f" whose token had been {start} before the run"
        ),
        steps=(
            f"The storage stood at token {start} before the run (line 1).",
            *n.fault_steps(write),
            f"{_who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"{n.ending(write)}, and it took effect: token {write.token} is not above {start}.",
        ),
        proof=(write,),
    )


def _older_than_accepted(n: Narrator, conflict: Conflict) -> Story:
    read, newer = conflict.accused, conflict.because
    return Story(
        summary=(
            f"{_whom(read)} read {read.value!r} with token {read.token} from {read.resource}"
            f" although a write with the newer token {newer[0].token} had been accepted before"
        ),
        steps=(
            n.acceptance(newer),
            f"After that, {_whom(read)} called a read {n.sent(read)}.",
            (
                f"It returned {read.value!r} with the older token {read.token} {n.answered(read)}: the"
                " newer value was not seen, or an older write had taken its place."
            ),
        ),
        proof=(*newer, read),
    )


def _went_back(n: Narrator, conflict: Conflict) -> Story:
    read, others = conflict.accused, conflict.because
    replaced = [op for op in others if op.value != read.value or op.f not in {"read", "write"}]
    own = [op for op in others if op not in replaced]
    later = replaced[-1].value if replaced else None
    return Story(
        summary=(f"{_whom(read)} read {read.value!r} from {read.resource} after {later!r} had replaced it"),
        steps=(
            *(f"{n.acceptance((op,))}" for op in own),
            *(_of_other(n, op) for op in replaced),
            f"After that, {_whom(read)} called a read {n.sent(read)}.",
            (
                f"It returned {read.value!r} again {n.answered(read)}: a value that was replaced"
                " does not come back, because each value is written once."
            ),
        ),
        proof=(*own, *replaced, read),
    )


def _of_other(n: Narrator, op: Op) -> str:
    if op.f == "read":
        return f"{_who(op)} called a read {n.sent(op)}, and it returned {op.value!r} {n.answered(op)}."
    return f"{_who(op)} sent its write of {op.value!r} {n.sent(op)}; it ended {n.answered(op)}."


def _against_the_log(n: Narrator, conflict: Conflict) -> Story:
    op, others = conflict.accused, conflict.because
    by = others[-1]
    did = "read" if op.f == "read" else "wrote"
    return Story(
        summary=(
            f"{_whom(op)} {did} {op.value!r} on {op.resource} after an operation that the"
            " storage's own order puts later had returned"
        ),
        steps=(
            f"In the storage's own order, {by.value!r} comes after {op.value!r}.",
            n.acceptance((by,)),
            f"After that, {_whom(op)} called its {op.f} of {op.value!r} {n.sent(op)}.",
            f"So {op.value!r} was there after {by.value!r}, and the storage's order says before.",
        ),
        proof=(*others, op),
    )


def _no_cause(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    strict = n._history.header.policy == "strict"  # noqa: SLF001 - words of one module
    bound = f"{write.token} or more" if strict else f"more than {write.token}"
    return Story(
        summary=(
            f"{_whom(write)} was told that its write of {write.value!r} with token {write.token}"
            f" to {write.resource} was stale, though no newer token can have been accepted"
        ),
        steps=(
            f"{_who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"The storage refused it as stale {n.answered(write)}.",
            (
                f"But no write with token {bound} that can have taken effect was called before this"
                " refusal came back, so there was nothing to be stale against."
            ),
        ),
        proof=(write,),
    )


def _cause_too_late(n: Narrator, conflict: Conflict) -> Story:
    story = _no_cause(n, conflict)
    if not conflict.because:
        return story
    first = conflict.because[0]
    return Story(
        summary=story.summary,
        steps=(
            *story.steps[:2],
            (
                f"The first {first.f} that can have raised the token so far is that of token"
                f" {first.token} by {_whom(first)}, called only {n.sent(first)}: too late to be"
                " the cause."
            ),
        ),
        proof=(conflict.accused, first),
    )


def _never_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    return Story(
        summary=(
            f"the storage told {_whom(write)} that {write.value!r} with token {write.token} was"
            f" written to {write.resource}, and never stored it"
        ),
        steps=(
            f"{_who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"The storage said ok {n.answered(write)}.",
            f"But {write.value!r} stands {n.place(write)}, which has every write that was stored.",
        ),
        proof=(write,),
    )


def _failed_but_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    return Story(
        summary=(
            f"{_whom(write)} was told that its write of {write.value!r} with token {write.token}"
            f" to {write.resource} had failed, and it took effect"
        ),
        steps=(
            f"{_who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"{n.ending(write)}: it must never take effect.",
            f"But {write.value!r} is {n.place(write)} in the storage's own order of stored writes.",
        ),
        proof=(write,),
    )


def _failed_but_read(n: Narrator, conflict: Conflict) -> Story:
    write, read = conflict.accused, conflict.because[0]
    story = _failed_but_logged(n, conflict)
    return Story(
        summary=story.summary,
        steps=(
            *story.steps[:2],
            f"But a read by {_whom(read)} returned {read.value!r} {n.answered(read)}.",
        ),
        proof=(write, read),
    )


def _logged_twice(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    log = n._log  # noqa: SLF001 - words of one module
    places = () if log is None else log.places[write.index]
    numbers = [] if log is None else [str(log.commits[place].seq) for place in places]
    return Story(
        summary=(
            f"the write of {write.value!r} with token {write.token} to {write.resource} by"
            f" {_whom(write)} took effect {len(numbers)} times"
        ),
        steps=(
            f"{_who(write)} sent {write.value!r} once, {n.sent(write)}.",
            (
                f"In the storage's own order it stands as numbers {' and '.join(numbers)}:"
                " something between the two repeated it."
            ),
        ),
        proof=(write,),
    )


def _after_newer_grant(n: Narrator, conflict: Conflict) -> Story:
    write, grant = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{_whom(write)} wrote {write.value!r} with token {write.token} to {write.resource}"
            f" after token {grant.token} had been granted to {_whom(grant)}, which had not yet"
            " written"
        ),
        steps=(
            *n.grant_steps(grant),
            f"{_who(write)} sent {write.value!r} with the older token {write.token} {n.sent(write)}.",
            "It was accepted: the storage had not met the newer token yet, so no fence could tell.",
        ),
        proof=(grant, write),
    )


def _value_of_nobody(n: Narrator, conflict: Conflict) -> Story:
    read = conflict.accused
    return Story(
        summary=(
            f"{_whom(read)} read {read.value!r} with token {read.token} from {read.resource},"
            " which nobody had written there"
        ),
        steps=(
            f"A read by {_whom(read)} returned {read.value!r} with token {read.token} {n.answered(read)}.",
            (
                f"No write of {read.value!r} to {read.resource} was ever called, and it is not what"
                " stood there before the run."
            ),
        ),
        proof=(read,),
    )


def _wrong_token(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{_whom(read)} read {read.value!r} from {read.resource} with token {read.token},"
            f" but it was written with token {write.token}"
        ),
        steps=(
            f"{_who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            (
                f"A read by {_whom(read)} returned {read.value!r} with token {read.token}"
                f" {n.answered(read)}: value and token do not belong together."
            ),
        ),
        proof=(write, read),
    )


def _read_before_written(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=f"{_whom(read)} read {read.value!r} from {read.resource} before it was written",
        steps=(
            f"A read by {_whom(read)} returned {read.value!r} {n.answered(read)}.",
            f"Only after that did {_whom(write)} send the write of {write.value!r} {n.sent(write)}.",
        ),
        proof=(read, write),
    )


def _read_but_not_logged(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{_whom(read)} read {read.value!r} from {read.resource}, which the storage's own"
            " order of writes does not have"
        ),
        steps=(
            f"{_who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"A read by {_whom(read)} returned it {n.answered(read)}, so it took effect.",
            f"But it stands {n.place(write)}.",
        ),
        proof=(write, read),
    )


def _false_or_stale(n: Narrator, conflict: Conflict) -> Story:
    op, rejected = conflict.accused, conflict.because[0]
    did = "read" if op.f == "read" else "wrote"
    return Story(
        summary=(
            f"either the storage wrongly refused {rejected.value!r} with token {rejected.token}"
            f" on {op.resource}, or what {_whom(op)} {did} afterwards with token {op.token} was"
            " stale"
        ),
        steps=(
            f"{_who(rejected)} sent {rejected.value!r} with token {rejected.token} {n.sent(rejected)}.",
            (
                f"The storage refused it as stale {n.answered(rejected)}. If that was right, a token"
                f" above {op.token} had been accepted by then."
            ),
            (
                f"After that, {_whom(op)} called its {op.f} {n.sent(op)}, and it took effect with the"
                f" lower token {op.token}."
            ),
            "Both cannot be right: the refusal was false, or the later operation was stale.",
        ),
        proof=(rejected, op),
    )


def _token_of_another(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{_whom(grant)} and {_whom(other)} were both granted the lock on {grant.resource}"
            f" with token {grant.token}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            (
                f"They are different owners ({other.owner} and {grant.owner}), so no storage can tell"
                " their writes apart."
            ),
        ),
        proof=(other, grant),
    )


def _token_not_above(n: Narrator, conflict: Conflict) -> Story:
    grant, earlier = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{_whom(grant)} was granted the lock on {grant.resource} with token {grant.token},"
            f" though token {earlier.token} had been granted before"
        ),
        steps=(
            *n.grant_steps(earlier),
            (
                f"After that, at {n.at(grant.sent)}, {_whom(grant)} sent the request that was granted"
                f" (called at line {grant.lines[0]})."
            ),
            (
                f"It got token {grant.token} {n.answered(grant)}, which is not above {earlier.token}:"
                " a storage takes the newer holder for the older one."
            ),
        ),
        proof=(earlier, grant),
    )


def _lease_still_promised(n: Narrator, conflict: Conflict) -> Story:
    grant, holder = conflict.accused, conflict.because[0]
    setter = conflict.because[-1]
    lease = n.lease(holder)
    return Story(
        summary=(
            f"{_whom(grant)} was granted the lock on {grant.resource} at {n.at(grant.returned or 0)},"
            f" while the lease of {_whom(holder)} was promised until {n.at(lease)}"
        ),
        steps=(
            *n.grant_steps(holder),
            (
                f"Its lease was last asked for at {n.at(setter.sent)} and promised until"
                f" {n.at(lease)} (line {setter.lines[-1]})."
            ),
            (
                f"It had not been given back when {_whom(grant)} was granted the lock with token"
                f" {grant.token} {n.answered(grant)}: too early."
            ),
        ),
        proof=(holder, setter, grant),
    )


def _both_believed(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{_whom(grant)} and {_whom(other)} both believed that they held the lock on {grant.resource}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            f"{_who(other)} had not begun to give it back, nor been told that it was lost.",
        ),
        proof=(other, grant),
    )


_TOLD: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.SENT_AFTER_NEWER: _sent_after_newer,
    Rule.SEEN_AFTER_NEWER: _seen_after_newer,
    Rule.LOGGED_AFTER_NEWER: _logged_after_newer,
    Rule.SAME_TOKEN_TWICE: _same_token_twice,
    Rule.BELOW_THE_START: _below_the_start,
    Rule.OLDER_THAN_ACCEPTED: _older_than_accepted,
    Rule.WENT_BACK: _went_back,
    Rule.AGAINST_THE_LOG: _against_the_log,
    Rule.NO_CAUSE: _no_cause,
    Rule.CAUSE_TOO_LATE: _cause_too_late,
    Rule.NEVER_LOGGED: _never_logged,
    Rule.FAILED_BUT_LOGGED: _failed_but_logged,
    Rule.FAILED_BUT_READ: _failed_but_read,
    Rule.LOGGED_TWICE: _logged_twice,
    Rule.AFTER_NEWER_GRANT: _after_newer_grant,
    Rule.VALUE_OF_NOBODY: _value_of_nobody,
    Rule.VALUE_WITH_WRONG_TOKEN: _wrong_token,
    Rule.READ_BEFORE_WRITTEN: _read_before_written,
    Rule.READ_BUT_NOT_LOGGED: _read_but_not_logged,
    Rule.FALSE_OR_STALE: _false_or_stale,
    Rule.TOKEN_OF_ANOTHER: _token_of_another,
    Rule.TOKEN_NOT_ABOVE: _token_not_above,
    Rule.LEASE_STILL_PROMISED: _lease_still_promised,
    Rule.BOTH_BELIEVED: _both_believed,
}
