"""The commit log as columns, matched to the operations of the history; `commit_log` defines what fits.

Positions are *resource-major*, as ranks are: the commits of a resource are in the storage's own
order, and every position of an earlier resource is below. Places are positions in the whole log.
Entries and operations are created only for positions that are looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from checkers.facts.stored_values import numbers_of_stored, places_of
from checkers.history.columns import ABSENT, APPEND, FAIL, FENCE, WRITE, Flags, Ints, Operations, indices
from checkers.history.commit_columns import Commits
from checkers.history.commit_log import UNRECORDED, Entry, of_another_run
from checkers.history.ranks import Scale, keys, stable_order
from checkers.history.records import Op


class LogColumns:
    """The storage's own order of accepted writes and fences: complete, and matched to the history."""

    value: Ints  # the number in `Columns`, or -1
    sender: Ints  # the row that sent each commit, or -1
    was_sent: Flags
    is_elsewhere: Flags  # was it sent to another resource?
    row: Ints  # the row that sent it to this resource, or -1
    fits: Flags  # was it sent there as it was stored?
    token: Ints  # as `Entry.token`; or ABSENT

    def __init__(self, operations: Operations, commits: Commits, made: Sequence[Entry] = ()) -> None:
        self._ops = operations
        self._commits = commits
        self._made = made  # the entries by their commits, if there are some already
        columns, log = operations.columns, commits.columns
        self.resources = [*columns.resources]
        resource = _numbers_of(log.resources, self.resources)[log.resource]
        self.place = stable_order(resource)
        self.resource = resource[self.place]
        self.fence = log.fence[self.place]
        self.has_fences = bool(self.fence.any())
        self.stored_token = log.token[self.place]  # or ABSENT
        numbers = np.arange(len(self.resources))
        self.first = np.searchsorted(self.resource, numbers)  # each resource's first position
        self.end = np.searchsorted(self.resource, numbers, side="right")  # and the one after its last

    @classmethod
    def matched(cls, operations: Operations, commits: Commits) -> Self:
        """Return the log of a run, with each commit matched to the operation that sent it."""
        log = cls(operations, commits)
        resource = np.empty(len(log), dtype=np.int64)
        resource[log.place] = log.resource
        log.value = numbers_of_stored(operations.columns, commits.columns, resource)[log.place]
        log._find_senders()
        return log

    @classmethod
    def _matched_already(cls, operations: Operations, entries: Sequence[Entry], *, has_fences: bool) -> Self:
        found = cls(operations, Commits.of(each.commit for each in entries), entries)
        ordered = [entries[place] for place in found.place.tolist()]
        found.sender = operations.rows_of(each.sent for each in ordered)
        found.has_fences = has_fences
        stored, values = [each.commit.value for each in ordered], operations.columns.values
        found.value = np.array(places_of(stored, values, range(len(values))), dtype=np.int64)
        found.value[found.fence] = -1
        found.was_sent = np.array([each.sent is not None for each in ordered], dtype=np.bool_)
        found.is_elsewhere = np.array([each.was_sent_elsewhere for each in ordered], dtype=np.bool_)
        found.fits = np.array([each.fits for each in ordered], dtype=np.bool_)
        found.row = np.where(found.is_elsewhere, -1, found.sender)
        token = [ABSENT if each.token is None else each.token for each in ordered]
        found.token = np.array(token, dtype=np.int64)
        return found

    def _find_senders(self) -> None:
        """Find the row that sent each commit, or -1; whether it was sent there, and as it was stored."""
        columns = self._ops.columns
        writer = np.full(len(columns.values) + 1, -1, dtype=np.int64)  # the last one is for no value
        writes = columns.rows(WRITE, APPEND)
        writer[columns.value[writes]] = writes
        self.sender = writer[self.value]
        if self.has_fences:
            fences = indices(self.fence)
            self.sender[fences] = _fenced(self._ops, self.resource[fences], self.stored_token[fences])
        self.was_sent = self.sender >= 0
        self.is_elsewhere = self.was_sent & (np.append(columns.resource, -1)[self.sender] != self.resource)
        self.row = np.where(self.is_elsewhere, -1, self.sender)  # the row that sent it there, or -1
        sent_token = np.append(columns.token, ABSENT)[self.row]
        self.fits = (self.row >= 0) & (sent_token == self.stored_token)
        self.token = np.where(self.stored_token == ABSENT, sent_token, self.stored_token)

    def __len__(self) -> int:
        return len(self.place)

    def check_same_run(self) -> None:
        """Refuse a log if none of its commits fits.

        Raises:
            HistoryError: no commit fits the history.
        """
        if len(self) and not self.fits.any():
            raise of_another_run(self.entry(self.at_place(0)))

    def at_place(self, place: int) -> int:
        """Return the position of a place."""
        return int(self._position[place])

    def by_first_commit(self, positions: Ints) -> Ints:
        """Return positions in the order of their resources' first commits in the whole log."""
        first = self.place[self.first[self.resource[positions]]]
        return positions[stable_order(first)]

    @cached_property
    def _position(self) -> Ints:
        position = np.empty(len(self), dtype=np.int64)
        position[self.place] = np.arange(len(self))
        return position

    @cached_property
    def first_of_row(self) -> Ints:
        """The first position of each row's commit, or -1."""
        first = np.full(len(self._ops), -1, dtype=np.int64)
        logged = indices(self.row >= 0)[::-1]
        first[self.row[logged]] = logged
        return first

    @cached_property
    def times_logged(self) -> Ints:
        """How often each row was committed."""
        return np.bincount(self.row[self.row >= 0], minlength=len(self._ops))

    @cached_property
    def unmatched_positions(self) -> Ints:
        """The positions of commits that no client sent as they were stored, by place."""
        unmatched = indices(~self.fits)
        return unmatched[np.argsort(self.place[unmatched])]

    @cached_property
    def lost_their_tokens(self) -> Flags:
        """Which commits were stored without a token, though no client sent them there without one?"""
        lost: Flags = (self.stored_token == ABSENT) & ~self.fence & ~self.fits & ~self.is_elsewhere
        return lost

    @cached_property
    def scale(self) -> Scale:
        """The heights of the tokens that are logged."""
        return Scale(self.token, len(self.resources))

    @cached_property
    def height(self) -> Ints:
        """The height of each position's token; 0 if it has none."""
        return self.scale.heights(self.resource, self.token)

    @cached_property
    def marks(self) -> Ints:
        """The height of the mark at each position; an earlier resource's height while there is no mark."""
        return np.maximum.accumulate(self.height)

    @cached_property
    def following(self) -> Ints:
        """The next write from each position on; one more entry for the end."""
        places = np.where(self.fence, len(self), np.arange(len(self)))
        return np.append(np.minimum.accumulate(places[::-1])[::-1], len(self))

    def entry(self, position: int) -> Entry:
        """Return one position as an object."""
        if self._made:
            return self._made[int(self.place[position])]
        sender = int(self.sender[position])
        place = int(self.place[position])
        return Entry(
            place=place,
            commit=self._commits[place],
            sent=None if sender < 0 else self._ops[sender],
            near=None if self.fits[position] else self._near(position),
        )

    def op(self, position: int) -> Op:
        """Return the operation as it was stored at a position."""
        return self.entry(position).op

    def _near(self, unmatched: int) -> Op | None:
        """Return a fitting write: the last before an unmatched commit of its resource, the first, or any."""
        fitting = self._fitting
        if not len(fitting.positions):
            return None
        sender = int(self.sender[unmatched])
        resource = int(self.resource[unmatched] if sender < 0 else self._ops.columns.resource[sender])
        first, last = np.searchsorted(fitting.resource, (resource, resource + 1))
        before = first + np.searchsorted(fitting.place[first:last], self.place[unmatched])
        beside = fitting.beside_last if first == last else max(before - 1, first)
        row = int(self.row[fitting.positions[beside]])
        return None if row == sender else self._ops[row]

    @cached_property
    def _fitting(self) -> _Fitting:
        positions = indices(self.fits)
        resource, place = self.resource[positions], self.place[positions]
        of_last = resource[np.argmax(place)] if len(place) else 0
        return _Fitting(positions, resource, place, int(np.searchsorted(resource, of_last)))

    @property
    def entries(self) -> Iterator[Entry]:
        """All entries, place by place."""
        return map(self.entry, self._position.tolist())

    @cached_property
    def unmatched(self) -> tuple[Entry, ...]:
        """The commits that no client sent as they were stored."""
        return tuple(map(self.entry, self.unmatched_positions.tolist()))

    @cached_property
    def unmatched_of(self) -> Mapping[str, Sequence[Entry]]:
        """The unmatched commits of each resource that has any."""
        of_each: dict[str, list[Entry]] = defaultdict(list)
        for each in self.unmatched:
            of_each[each.commit.resource].append(each)
        return of_each

    @cached_property
    def unmatched_as(self) -> Mapping[int, Entry]:
        """The first unmatched commit that accuses each operation, by its index."""
        return {each.accused.index: each for each in reversed(self.unmatched)}

    def positions(self, op: Op) -> list[int]:
        """Return the positions of an operation."""
        if op.index < 0:  # see `Entry.op`
            return [self.at_place(op.index - UNRECORDED)]
        rows, positions = self._by_row
        first, last = np.searchsorted(rows, (op.index, op.index + 1))
        found: list[int] = positions[first:last].tolist()
        return found

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        logged = indices(self.row >= 0)
        logged = logged[stable_order(self.row[logged])]
        return self.row[logged], logged

    def places(self, op: Op) -> tuple[int, ...]:
        """Return the places of an operation; none if it did not take effect on its resource."""
        return tuple(int(self.place[each]) for each in self.positions(op))

    def numbers(self, op: Op) -> list[int]:
        """Return the numbers that the storage gave to an operation."""
        return [int(self._commits.columns.seq[place]) for place in self.places(op)]

    def sent_last_before(self, write: Op) -> Op | None:
        """Return the operation that was sent last, among those logged before a write on its resource."""
        position = self.positions(write)[0]
        is_first = position == self.first[self.resource[position]]
        last = None if is_first else self.sent_last_up_to(position - 1)
        return None if last is None else self.op(last)

    def sent_last_up_to(self, position: int) -> int | None:
        """Return the position of the operation sent last, up to this one on its resource; None if none."""
        found = int(np.searchsorted(self._sent_last, self._sent_last[position]))
        was_sent = self.row[found] >= 0 and self.resource[found] == self.resource[position]
        return found if was_sent else None

    @cached_property
    def _sent_last(self) -> Ints:
        """The latest call among the operations up to each position, as heights; 0 if none was sent."""
        called = np.append(self._ops.columns.called, ABSENT)[self.row]
        moments = Scale(called, len(self.resources))
        return np.maximum.accumulate(moments.heights(self.resource, called))

    def only(self, indexes: AbstractSet[int], operations: Operations) -> LogColumns:
        """Return the log as if only these had taken effect; `operations` are the recorded ones."""
        return LogColumns._matched_already(operations, self.entries_of(indexes), has_fences=self.has_fences)

    def entries_of(self, indexes: AbstractSet[int]) -> list[Entry]:
        """Return the entries of these operations, and those that they sent, place by place."""
        senders, by_sender = self._by_sender
        rows = np.array([index for index in indexes if index >= 0], dtype=np.int64)
        bounds = np.searchsorted(senders, (rows, rows + 1)).T.tolist()
        left = {self.at_place(index - UNRECORDED) for index in indexes if index < 0}
        left.update(position for first, last in bounds for position in by_sender[first:last].tolist())
        return [self.entry(position) for position in sorted(left, key=self.place.__getitem__)]

    @cached_property
    def _by_sender(self) -> tuple[Ints, Ints]:
        """The rows of the senders, sorted, and the positions of what they sent."""
        order = stable_order(self.sender + 1)
        return self.sender[order], order

    @property
    def unsent(self) -> int:
        """The number of commits that no client sent."""
        return int(np.count_nonzero(~self.was_sent))

    @cached_property
    def stored_elsewhere(self) -> Flags:
        """The rows of writes that are logged only for a resource that they were not sent to."""
        moved = np.zeros(len(self._ops), dtype=np.bool_)
        moved[self.sender[self.is_elsewhere]] = True
        return moved & (self.first_of_row < 0)


class _Fitting(NamedTuple):
    """The commits that were sent as they were stored."""

    positions: Ints
    resource: Ints
    place: Ints
    beside_last: int  # the first one on the resource of the last one in the log


def _numbers_of(names: Iterable[str], known: list[str]) -> Ints:
    """Return the number of each name in a list, and append the names that it lacks."""
    numbers = {name: number for number, name in enumerate(known)}
    found = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    known.extend(list(numbers)[len(known) :])
    return found


def _fenced(operations: Operations, resource: Ints, token: Ints) -> Ints:
    """Return the row that sent each fence's commit, or -1: the first that was not refused, if any."""
    columns, rows = operations.columns, operations.columns.rows(FENCE)
    if not len(rows):
        return np.full(len(resource), -1, dtype=np.int64)
    own, asked = keys((columns.resource[rows], columns.token[rows]), (resource, token))
    order = np.lexsort((rows, columns.outcome[rows] == FAIL, own))
    found = order[np.minimum(np.searchsorted(own[order], asked), len(rows) - 1)]
    return np.where(own[found] == asked, rows[found], -1)
