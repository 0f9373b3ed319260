"""Reference definitions of a right storage as precedence graphs: slow, plain, and authoritative.

A history of one storage is right iff some choice of the unknowns gives a graph without
a cycle (see `precedence`). Its nodes are the operations that took effect or show something:

- the acknowledged writes, and the ones that ended in info whose value was read;
- the ok reads, each after the write whose value it returned, and in one block with it;
- with a fence, also the `fence` operations, and the writes and fences that it rejected;
- the state before the run, as a write before everything.

**Plain register.** Real time, and the write that each read saw. There is no choice.

**Fenced register.** Also the order of tokens: if the fence would have refused one write after another
(strict: its token is not above; inclusive: it is below), then the first came first. A `fence` raises the mark
as a write does, and no mark forces it to come earlier. A rejected write or fence comes after something that
had raised the mark above what it could pass: its *cause*. The cause is unknown, so every possible one is
tried. A write or fence that ended in info took effect if it is chosen as a cause. One that was never read and
caused nothing need not have taken effect: an order that contains it also explains the rest without it.

**With a commit log.** The writes in the log took effect, each once, in the log's order.

Writes and fences that failed for another reason and reads without an answer say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from checkers.history.records import WRITES, Header, Op, Outcome
from checkers.reference.precedence import INITIAL, Block, Node, Precedence, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOfOne:
    """The operations on the storage of one resource."""

    operations: Sequence[Op]
    header: Header
    fenced: bool
    log: Sequence[Op] | None = None

    @property
    def writes(self) -> list[Op]:
        """All operations that store a value, whatever became of them."""
        return [op for op in self.operations if op.f in WRITES]

    @property
    def reads(self) -> list[Op]:
        """The reads that were answered."""
        return [op for op in self.operations if op.f == "read" and op.outcome is Outcome.OK]

    @property
    def fences(self) -> list[Op]:
        """The fences that raised the mark, or may have."""
        fences = [op for op in self.operations if op.f == "fence" and op.outcome is not Outcome.FAIL]
        return [op for op in fences if self.fenced or op in (self.log or ())]

    def source(self, read: Op) -> Node | None:
        """Return the write whose value a read returned; None if no write is possible."""
        for write in self.writes:
            if write.value == read.value and (None in {read.token, write.token} or read.token == write.token):
                return write.index if self.may_have_effect(write) else None
        before = (self.header.initial_value, self.header.initial_token)
        return INITIAL if (read.value, before[1] if read.token is None else read.token) == before else None

    def took_effect(self, causes: Mapping[int, Node]) -> list[Op]:
        """Return the writes and fences that must have taken effect, and the chosen causes."""
        certain = {self.source(read) for read in self.reads} | set(causes.values())
        logged = {op.index for op in self.log or ()}
        known = certain | logged
        return [op for op in chain(self.writes, self.fences) if op.outcome is Outcome.OK or op.index in known]

    def order(self, causes: Mapping[int, Node], late: Op | None = None) -> Precedence:
        """Return the precedence graph with these causes; rejected writes without one are left out.

        No fence stops the write `late`.
        """
        effective = self.took_effect(causes)
        rejected = [op for op in self.operations if op.index in causes]
        order = Precedence({op.index: op for op in (*effective, *self.reads, *rejected)})
        order.put_first(INITIAL)
        for before, after in pairwise(self.log or ()):
            order.add(before.index, Why.LOG_ORDER, after.index)
        for write in effective:
            if self.fenced and write.f in WRITES and write != late:
                self.put_before_newer(order, write, effective)
        for index, cause in causes.items():
            order.add(cause, Why.REJECTED_BECAUSE, index)
        values: list[Node] = [INITIAL, *(op.index for op in effective if op.f in WRITES)]
        for value in values:
            readers = [read.index for read in self.reads if self.source(read) == value]
            for reader in readers:
                order.add(value, Why.READ_FROM, reader)
            order.blocks.append(Block(first=value, members=(value, *readers)))
        return order

    def put_before_newer(self, order: Precedence, write: Op, others: Sequence[Op]) -> None:
        """Put a write before everything after which a fence would refuse it."""
        if self.refuses(write, self.header.initial_token):
            order.add(write.index, Why.TOKEN_ORDER, INITIAL)
        for other in others:
            if other is not write and other.token is not None and self.refuses(write, other.token):
                order.add(write.index, Why.TOKEN_ORDER, other.index)

    def refuses(self, write: Op, mark: int) -> bool:
        """Would a fence at this mark refuse the write?"""
        if write.token is None:
            return False
        return write.token <= mark if self.header.policy == "strict" else write.token < mark

    def may_have_effect(self, op: Op) -> bool:
        """Can the operation have taken effect?"""
        if self.log is not None and op.f in WRITES:
            return op in self.log
        return op.outcome is not Outcome.FAIL
