"""Definitions of a right storage, of stale writes and of false rejections: slow, plain, and authoritative.

`checkers.reference.storages` has the precedence graph of one storage, for one choice of the unknowns;
here every choice is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from checkers.history.records import WRITES, Header, Op, Outcome
from checkers.reference.precedence import INITIAL, Node
from checkers.reference.storages import StorageOfOne


def is_right(
    operations: Sequence[Op], header: Header, log: Sequence[Op] | None = None, *, fenced: bool | None = None
) -> bool:
    """Is there an order in which the storage of one resource answers as recorded?

    Args:
        operations: of one resource, in any order.
        header: the policy, and the state before the run.
        log: the accepted writes in the storage's own order, if known.
        fenced: whether to judge it as fenced; None: as the header says.
    """
    storage = StorageOfOne(
        operations=operations, header=header, log=log, fenced=header.fenced if fenced is None else fenced
    )
    return is_sound(storage) and _has_causes(storage, {})


def stale_writes(operations: Sequence[Op], header: Header) -> set[int]:
    """Return the indexes of the writes of an unfenced storage that are stale in every order.

    In no order does such a write come before all those after which a fence would refuse it.
    """
    storage = StorageOfOne(operations=operations, header=header, fenced=False)
    effective = storage.took_effect({})
    stale = set()
    for write in effective:
        order = storage.order({})
        storage.put_before_newer(order, write, effective)
        if not order.saturate():
            stale.add(write.index)
    return stale


def late_alone(operations: Sequence[Op], header: Header) -> set[int]:
    """Return each write that explains a wrong history if the fence let it alone pass at any time.

    Nothing of the history may have been rejected.
    """
    storage = StorageOfOne(operations=operations, header=header, fenced=True)
    if not is_sound(storage) or storage.order({}).saturate():
        return set()
    return {
        write.index
        for write in storage.took_effect({})
        if write.f in WRITES and storage.order({}, late=write).saturate()
    }


def false_rejections(operations: Sequence[Op], header: Header) -> set[int]:
    """Return the rejections by an unfenced storage that can have met no newer token.

    Nothing after which a fence would refuse the write had been called when the rejection returned.
    """
    storage = StorageOfOne(operations=operations, header=header, fenced=True)
    by_index = {op.index: op for op in operations}
    return {
        rejected.index
        for rejected in rejected_by(storage)
        if not any(
            cause is INITIAL or not rejected.precedes(by_index[cause])
            for cause in possible_causes(storage, rejected)
        )
    }


def _has_causes(storage: StorageOfOne, causes: Mapping[int, Node]) -> bool:
    """Can each rejection without a cause be given one without a cycle?"""
    if not storage.order(causes).saturate():
        return False
    left = [op for op in rejected_by(storage) if op.index not in causes]
    if not left:
        return True
    return any(
        _has_causes(storage, {**causes, left[0].index: cause}) for cause in possible_causes(storage, left[0])
    )


def rejected_by(storage: StorageOfOne) -> list[Op]:
    """Return the writes and fences that a fenced storage refused as stale."""
    asked = (op for op in storage.operations if op.f in {*WRITES, "fence"})
    return [op for op in asked if storage.fenced and op.outcome is Outcome.FAIL and op.error == "stale"]


def is_sound(storage: StorageOfOne) -> bool:
    """Was every value read there, did no failed write take effect, and none twice?"""
    return _is_log_sound(storage) and all(storage.source(read) is not None for read in storage.reads)


def possible_causes(storage: StorageOfOne, rejected: Op) -> Iterator[Node]:
    """Yield what can have raised the mark so that this write or fence was refused."""
    if storage.refuses(rejected, storage.header.initial_token):
        yield INITIAL
    for op in chain(storage.writes, storage.fences):
        if storage.may_have_effect(op) and op.token is not None and storage.refuses(rejected, op.token):
            yield op.index


def _is_log_sound(storage: StorageOfOne) -> bool:
    """Does it contain the acknowledged writes, no failed ones, and none twice?"""
    log = storage.log
    if log is None:
        return True
    once = len({op.index for op in log}) == len(log)
    return once and all(
        op in log if op.outcome is Outcome.OK else op.outcome is Outcome.INFO or op not in log
        for op in storage.writes
    )
