"""Words for the edges of a precedence graph: which operation came first, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from checkers.explain.effects import acceptance, shown_by
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, step
from checkers.history.records import Op, Outcome
from checkers.text.places import cited
from checkers.text.printable import content

if TYPE_CHECKING:
    from checkers.reference.precedence import Edge, Node

_BEFORE_THE_RUN = "the initial value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A write that was refused, and the possible reason."""

    rejected: Op
    cause: Op
    reached: int  # no token up to this one can have been the reason
    why_none: str = ""  # why no token up to `reached` was


class EdgeWords:
    """The words for the edges between some operations, which are named by position."""

    def __init__(self, n: Narrator, operations: Sequence[Op], refusal: Refusal | None = None) -> None:
        self.operations = operations
        self._n = n
        self._refusal = refusal
        self._steps: dict[str, Callable[[Edge], str]] = {
            "INITIAL": self._initial,
            "LOG_ORDER": self._log_order,
            "READ_FROM": self._read_from,
            "REAL_TIME": self._real_time,
            "REJECTED_BECAUSE": self._rejected_because,
            "REPLACED": self._replaced,
            "TOKEN_ORDER": self._token_order,
            "WRITTEN_LATER": self._written_later,
        }

    def step(self, edge: Edge) -> Step:
        """Say why one operation came before the other."""
        about = [self._op(node) for node in (edge.before, edge.after)]
        if edge.reason.name == "REJECTED_BECAUSE" and self._refusal is not None:
            about += [self._refusal.rejected, self._refusal.cause]
        elif edge.reason.name == "WRITTEN_LATER":
            about.append(self._op(edge.premise[-1].after))
        elif isinstance(edge.before, int):
            about.append(self._shown_by(self.operations[edge.before]))
        text = self._steps[edge.reason.name](edge)
        return step(text, *(op for op in dict.fromkeys(about) if op is not None))

    def name(self, node: Node) -> str:
        """Name an operation within a sentence."""
        op = self._op(node)
        if op is None:
            return _BEFORE_THE_RUN
        name = self._n.name(op)
        is_shared = any(other is not op and self._n.name(other) == name for other in self.operations)
        if not is_shared:
            return name
        return f"{name} at {cited(op.lines[-1])}" if op.lines else f"{name} ({self._n.place(op)})"

    def _op(self, node: Node) -> Op | None:
        return self.operations[node] if isinstance(node, int) else None

    def _ends(self, edge: Edge) -> tuple[Op, Op]:
        """Return both operations of an edge that does not touch the start of the run."""
        return self.operations[cast("int", edge.before)], self.operations[cast("int", edge.after)]

    def _both(self, edge: Edge, came: str = "came") -> str:
        return f"{self.name(edge.before)} {came} before {self.name(edge.after)}"

    def _value(self, node: Node) -> str:
        op = self._op(node)
        return _BEFORE_THE_RUN if op is None else content(op.value)

    def _initial(self, edge: Edge) -> str:
        token = self._n.history.header.initial_token
        return f"The initial value, with token {token} (line 1), came before {self.name(edge.after)}."

    def _real_time(self, edge: Edge) -> str:
        before, after = self._ends(edge)
        by = self._shown_by(before)
        if by is not None:
            began = f"By real time, {self._both(edge)}: {self._n.began(after)}."
            return f"{acceptance(self._n, (before, by)).text} {began}"
        return f"By real time, {self._both(edge)}: {self._n.ended(before)}, and {self._n.began(after)}."

    def _shown_by(self, write: Op) -> Op | None:
        """Return the reader of a list that proves an append, if the append's own answer does not."""
        return next((by for by in shown_by(self._n, write) if by in self.operations), None)

    def _token_order(self, edge: Edge) -> str:
        before = self.operations[cast("int", edge.before)]
        return (
            f"By token order, {self._both(edge, 'must come')}:"
            f" {self._rule_of_tokens(before, self._op(edge.after))}."
        )

    def _rule_of_tokens(self, before: Op, after: Op | None) -> str:
        if before.f == "acquire":
            rise = "tokens have to rise from grant to grant, and"
            if after is None or before.token == after.token:
                return f"{rise} both got token {before.token}"
            return f"{rise} {before.token} is below {after.token}"
        if not self._n.history.header.fenced:
            accepted = self._accepted(before, f"it accepted {content(before.value)}")
            return (
                f"{self._order_of_tokens(before, after)}. This storage does not compare tokens, so {accepted}"
            )
        mark = self._n.history.header.initial_token if after is None else after.token
        met = "is at" if after is None else "was raised to" if after.f == "fence" else "has accepted"
        fence = "strict fence" if before.token == mark else "fence"
        accepted = self._accepted(before)
        return f"a {fence} that {met} token {mark} must refuse token {before.token}, but {accepted}"

    def _order_of_tokens(self, before: Op, after: Op | None) -> str:
        """Say which write came too late, where no fence decides."""
        if after is None:
            mark = self._n.history.header.initial_token
            return f"token {before.token} is older than the initial token {mark}"
        if before.token == after.token:
            return f"token {before.token} was good for one write, and had been used"
        return f"token {before.token} belongs to an earlier holder than token {after.token}"

    def _accepted(self, write: Op, accepted: str = "it was accepted") -> str:
        """Say how it is known that a write took effect."""
        n, numbers = self._n, self._n.numbers(write)
        if len(numbers) > 1:
            return f"{accepted} once more, as {n.place(write)} in the storage's own order"
        if write.outcome is Outcome.OK:
            return f"{accepted} {n.answered(write)}"
        if numbers:
            place = f"{accepted}: it is {n.place(write)} in the storage's own order"
            return f"{place}{self._denied(write)}"
        reads = [op for op in self.operations if op.f == "read" and op.value == write.value]
        by = None if reads else self._shown_by(write)
        if by is not None:
            return f"{accepted}: {n.whom(by)} read a list with {content(write.element)} {n.answered(by)}"
        read = min(reads, key=lambda op: op.returned or 0)
        return f"{accepted}: {n.whom(read)} read {content(write.value)} {n.answered(read)}"

    def _denied(self, write: Op) -> str:
        """Name the answer that denied that a write took effect, if there was one."""
        if write.outcome is not Outcome.FAIL:
            return ""
        answer = "refused as stale" if write.error == "stale" else f"reported as failed ({write.error})"
        return f", although it had been {answer} {self._n.answered(write)}"

    def _read_from(self, edge: Edge) -> str:
        _, read = self._ends(edge)
        return (
            f"By the read, {self._both(edge)}: {self._n.whom(read)} got {content(read.value)}"
            f" {self._n.answered(read)}, so it had been written by then."
        )

    def _replaced(self, edge: Edge) -> str:
        return (
            f"So {self._both(edge)}: {self._there(edge.before)}, and {self._value(edge.before)} was gone for"
            f" good once {self._value(edge.after)} had replaced it, because each value is written once."
        )

    def _written_later(self, edge: Edge) -> str:
        return (
            f"So {self._both(edge)}: {self._there(edge.before)}, {self.name(edge.premise[-1].after)} returned"
            f" {self._value(edge.after)} later, and a replaced value does not come back, because each value"
            " is written once."
        )

    def _there(self, node: Node) -> str:
        """Say that a read returned its value, or that a write put it there."""
        op = self._op(node)
        is_read = op is not None and op.f == "read"
        return f"it returned {self._value(node)}" if is_read else f"{self._value(node)} was there first"

    def _log_order(self, edge: Edge) -> str:
        n, (before, after) = self._n, self._ends(edge)
        return (
            f"By the storage's own order, {self._both(edge)}: there, {n.stored(before)} is"
            f" {n.place(before, first=True)} and {n.stored(after)} is {n.place(after)}."
        )

    def _rejected_because(self, edge: Edge) -> str:
        n, refusal = self._n, self._refusal
        if refusal is None:
            raise ValueError("an edge of a rejection, and no rejection was asked about")
        rejected, cause, least = refusal.rejected, refusal.cause, n.least_above(refusal.rejected)
        higher = ""
        if n.log is None and refusal.reached >= least:
            higher = f". None up to {refusal.reached} can have been, {refusal.why_none}: it was a higher one"
        return (
            f"By the rejection, {self._both(edge)}: the storage refused token {rejected.token} as stale"
            f" {n.answered(rejected)}, which is right only if a token of {least} or more had been accepted"
            f" by then{higher}{self._such_as(cause)}."
        )

    def _such_as(self, cause: Op) -> str:
        if self._n.log is None:
            return f", such as {cause.token}, sent {self._n.sent(cause)}"
        place = self._n.place(cause, first=True)
        return f"; the first such token in the storage's own order is {cause.token} ({place})"
