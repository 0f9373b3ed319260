"""Lost updates: was everything that was appended under the lock still there when the list was read?

An element is *known* from the first moment at which its append had returned ok, or a
list with it had been read: by a read, or by an append before it wrote. It is lost if it
is absent from a list read that was called after that moment; or if two appends that
took effect read the same list, since the later of them wrote over the other's element;
or, where the storage tells its own order, if a list stands there without it, after one
that had it.

**Who dropped it.** Each list was written by one append, which had read another list,
and so on: from a list that lacks the element, this chain leads back to the append that
read before the element came, and wrote after. The way back ends before an append that
certainly came before the element: the element's own append built on its list, or was
called after its return, or, behind a fence, has a higher token (unless the lower one was
called when the element was known, and so was a stale write). The last append on the way
is accused. If there is none, nobody wrote over the element: the reader got a list from
before it, and is accused itself.

**Whose fault it was.** A fence lets tokens through in order, and that is not enough: a
holder reads, an older holder's write arrives late, with a token that is still good, and
the new holder writes what it had read and its own element. Neither the lock service nor
the storage did anything wrong. So a lost update is only counted if an append on the way
back explains it: its token is not below that of the lost one, and it was called before
the element was known, so that it can have read before the element came. In a right run
the append that dropped the element is one of these, so a right run is never accused.

If a new holder raises the fence before it reads (`fence_on_acquire`), no older holder's
write can come in between. Then only an append of the same token explains it: the
holder's own, whose outcome it never learned and which it did not wait for.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.history.records import WRITES, Element, Header, List, Op, Outcome
from checkers.memoized import memoized


def lost_updates(evidence: Evidence) -> Iterator[Conflict]:
    """What clients saw: for each append that dropped others' elements, one conflict.

    What the storage's own order shows is left to it.
    """
    logged = {lost.element for conflict in _dropped_in_log(evidence) for lost in conflict.because[:1]}
    for lists in _resources(evidence):
        lost = {loss.element: loss for loss in losses(lists)}
        yield from _worst(lists.overwritten(loss) for loss in lost.values() if loss.element not in logged)
        yield from _worst(_same_list(lists, {*lost, *logged}))


def dropped_in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Decided exactly: appends that stand in the log without what the list before them had."""
    return _worst(_dropped_in_log(evidence))


@memoized
def _dropped_in_log(evidence: Evidence) -> tuple[Conflict, ...]:
    return tuple(_without_what_was_there(evidence))


def _without_what_was_there(evidence: Evidence) -> Iterator[Conflict]:
    if evidence.log is None or not evidence.resources("append"):
        return
    written: dict[str, list[Op]] = defaultdict(list)
    for entry in evidence.log.entries:
        if not entry.is_of_nobody and not entry.commit.fence:
            written[entry.op.resource].append(entry.op)
    for lists in _resources(evidence):
        there: dict[Element, Op] = {}  # with the write that brought it, for the first time or back again
        before: List = ()
        for write in written[lists.resource]:
            after = write.value if isinstance(write.value, tuple) else ()
            if after[: len(before)] == before:  # as nearly always
                for element in after[len(before) :]:
                    there.setdefault(element, write)
            else:
                present = set(after)
                dropped = {element: by for element, by in there.items() if element not in present}
                yield from lists.dropped_by(write, dropped)
                there = {element: there.get(element, write) for element in after}
            before = after


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """An element that is absent from a list that was read when it was known."""

    element: Element
    reader: Op


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The first proof that an element had been in the list."""

    time: float  # ns
    by: Op


@dataclass(frozen=True, kw_only=True)
class Lists:
    """What one resource held, by those who read it and wrote it."""

    resource: str
    header: Header
    appends: Sequence[Op]
    readings: Sequence[tuple[Op, List]]  # reads and appends, each with the list it read; by their calls

    @cached_property
    def appender(self) -> Mapping[Element, Op]:
        """The append of each element."""
        return {op.element: op for op in self.appends if op.element is not None}

    @cached_property
    def known(self) -> Mapping[Element, Known]:
        """When each appended element was known first; the earliest first."""
        known: dict[Element, Known] = {}
        for time, op, shown in sorted(self._proofs(), key=lambda proof: proof[0]):
            for element in shown:
                if element not in known and element in self.appender:
                    known[element] = Known(time=time, by=op)
        return known

    def _proofs(self) -> Iterator[tuple[int, Op, List]]:
        for op in self.appends:
            if op.outcome is Outcome.OK and op.returned is not None and op.element is not None:
                yield op.returned, op, (op.element,)
        seen: dict[List, int] = {}
        for op, shown in self.readings:
            if op.learned is not None and op.learned < seen.get(shown, op.learned + 1):
                seen[shown] = op.learned
                yield op.learned, op, shown

    @cached_property
    def writer(self) -> Mapping[List, Op]:
        """The append that wrote each list."""
        return {op.value: op for op in self.appends if isinstance(op.value, tuple)}

    @cached_property
    def shown_by(self) -> Mapping[List, Op]:
        """Who first read each list."""
        return {shown: op for op, shown in reversed(self.readings)}

    def built_on(self, append: Op) -> List | None:
        """The list that an append read: as it told, or else as whoever read what it wrote can see."""
        if append.seen is not None:
            return append.seen
        wrote = append.value if isinstance(append.value, tuple) else ()
        return wrote[:-1] if wrote in self.shown_by else None

    def _shown(self, append: Op) -> tuple[Op, ...]:
        """Who read the list of an append that told nothing."""
        wrote = append.value
        return () if append.seen is not None or not isinstance(wrote, tuple) else (self.shown_by[wrote],)

    @cached_property
    def left_out(self) -> Mapping[int, AbstractSet[Element]]:
        """What each append, by its index, had read and did not write back."""
        return {
            op.index: set(op.seen).difference(op.value)
            for op in self.appends
            if op.seen is not None and isinstance(op.value, tuple)
        }

    def overwritten(self, loss: Loss) -> Conflict:
        """Who dropped an element, and whether that is anybody's fault."""
        lost, known = self.appender[loss.element], self.known[loss.element]
        way = list(self._way_back(found_by(loss.reader), lost, known))
        if not way:
            return Conflict(
                anomaly="lost-update",
                rule=Rule.READ_WITHOUT,
                accused=loss.reader,
                because=(lost, known.by),
            )
        return Conflict(
            anomaly="lost-update",
            rule=Rule.WRITTEN_WITHOUT,
            accused=way[-1],
            because=(lost, known.by, loss.reader),
            counted=any(self._explains(op, lost, known.time) for op in way),
        )

    def dropped_by(self, write: Op, brought: Mapping[Element, Op]) -> Iterator[Conflict]:
        """The loss of each of these elements that anybody knew of, by this write for certain.

        What it had read came from before the write that `brought` the element: so that is the
        one which it must not have known. Or it had read a list from which a late write had
        dropped the element already.
        """
        after = write.value if isinstance(write.value, tuple) else ()
        for element, by in brought.items():
            known = self.known.get(element)
            if known is not None:
                lost = self.appender[element]
                way = self._way_back(after, lost, known)
                yield Conflict(
                    anomaly="lost-update",
                    rule=Rule.LOGGED_WITHOUT,
                    accused=write,
                    because=(lost, known.by),
                    counted=self._explains(write, by, self._known_of(by))
                    or any(self._explains(op, lost, known.time) for op in way),
                )

    def _known_of(self, append: Op) -> float:
        """When an append was first known to have taken effect."""
        known = None if append.element is None else self.known.get(append.element)
        return math.inf if known is None else known.time

    def both_read(self, first: Op, second: Op) -> Conflict:
        """The loss of an element by an append that had read the same list."""
        return Conflict(
            anomaly="lost-update",
            rule=Rule.SAME_LIST_READ,
            accused=second,
            because=(first, *self._shown(first), *self._shown(second)),
            counted=self._explains(second, first, self._known_of(first)),
        )

    def _way_back(self, found: List, lost: Op, known: Known) -> Iterator[Op]:
        """The appends that may have dropped it, from the list that lacks it; the last one is accused."""
        built_on = set() if lost.seen is None else {op.index for op in self._back(lost.seen)}
        for op in self._back(found):
            if op.index in built_on or self._came_before(op, lost, known):
                return
            yield op
            if lost.element in self.left_out.get(op.index, ()):
                return

    def _back(self, found: List) -> Iterator[Op]:
        """The append that wrote a list, the one that wrote the list which that had read, and so on.

        What an append read that told nothing is taken to be all but its own element.
        """
        passed: set[int] = set()
        op = self._writer(found)
        while op is not None and op.index not in passed:
            passed.add(op.index)
            yield op
            found = found[:-1] if op.seen is None else op.seen
            op = self._writer(found)

    def _writer(self, found: List) -> Op | None:
        """The append of a list; if it told nothing, its element shows that the list is its own."""
        op = self.writer.get(found)
        if op is None and found:
            last = self.appender.get(found[-1])
            op = last if last is not None and last.outcome is Outcome.INFO else None
        return op

    def _came_before(self, op: Op, lost: Op, known: Known) -> bool:
        if op.precedes(lost):
            return True
        if not self.header.fenced or op.token is None or lost.token is None:
            return False
        return op.token < lost.token and op.called <= known.time

    def _explains(self, op: Op, lost: Op, known: float) -> bool:
        """Can it have read before the lost element came, and rightly have written after?"""
        if op.token is None or lost.token is None or known < op.called:
            return False
        return lost.token == op.token or (lost.token < op.token and not self.header.fence_on_acquire)


def found_by(reader: Op) -> List:
    """The list that an operation read; a value that is none stands for a list without elements."""
    value = reader.seen if reader.f == "append" else reader.value
    return value if isinstance(value, tuple) else ()


def losses(lists: Lists) -> Iterator[Loss]:
    """Each element that was lost, and who first read a list without it.

    Linear in the lists: those that were known and not lost are looked through only
    where a list lacks one of them.
    """
    coming = list(lists.known.items())
    upto = 0
    there: dict[Element, None] = {}  # known by now, and not lost
    for reader, shown in lists.readings:
        while upto < len(coming) and coming[upto][1].time < reader.called:
            there[coming[upto][0]] = None
            upto += 1
        present = set(shown)
        if there.keys() <= present:
            continue
        for element in [each for each in there if each not in present]:
            del there[element]
            yield Loss(element=element, reader=reader)


def _resources(evidence: Evidence) -> Iterator[Lists]:
    """The resources that were appended to, and to which nothing else was written."""
    if next(evidence.named("append"), None) is None:
        return
    for resource, operations in evidence.by_resource(*WRITES, "read").items():
        appends = [op for op in operations if op.f == "append"]
        is_mixed = any(op.f == "write" and op.outcome is not Outcome.FAIL for op in operations)
        if appends and not is_mixed:
            yield Lists(
                resource=resource,
                header=evidence.history.header,
                appends=appends,
                readings=list(_readings(operations)),
            )


def _readings(operations: Iterable[Op]) -> Iterator[tuple[Op, List]]:
    for op in operations:
        if (op.f == "append" and op.seen is not None) or (op.f == "read" and op.outcome is Outcome.OK):
            yield op, found_by(op)


def _same_list(lists: Lists, lost: AbstractSet[Element | None]) -> Iterator[Conflict]:
    """Of the appends that are known to have taken effect on one list, each dropped the one before."""
    same: dict[List, list[Op]] = defaultdict(list)
    for op in lists.appends:
        built_on = lists.built_on(op)
        if built_on is not None and op.element in lists.known:
            same[built_on].append(op)
    for appends in same.values():
        appends.sort(key=lambda op: (-1 if op.token is None else op.token, op.called))
        for first, second in itertools.pairwise(appends):
            if lost.isdisjoint({first.element, second.element}):
                yield lists.both_read(first, second)


def _worst(conflicts: Iterable[Conflict]) -> Iterator[Conflict]:
    """One conflict for each accused: one that nothing explains, if there is any."""
    found: dict[int, Conflict] = {}
    for conflict in conflicts:
        known = found.setdefault(conflict.accused.index, conflict)
        if known.counted and not conflict.counted:
            found[conflict.accused.index] = conflict
    yield from found.values()
