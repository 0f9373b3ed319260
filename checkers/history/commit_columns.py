"""Commits as columns: one numpy array for each field, in the storage's own order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np

from checkers.history.columns import ABSENT, Flags, Ints, Numbers
from checkers.history.records import Commit, Value

_FILE = "commits.jsonl"
_FIELDS = ("seq", "resource", "token", "value", "fence", "line")
_AT_ONCE = 1 << 14  # commits created in one batch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommitColumns:
    """The fields of all commits; resources and values are indices into the tables below."""

    seq: Ints
    resource: Ints  # index into `resources`
    token: Ints  # or ABSENT
    value: Ints  # index into `values`; 0, which is null, for a fence
    fence: Flags
    line: Ints
    resources: Sequence[str]
    values: Sequence[Value]
    file: str = _FILE

    @classmethod
    def of(cls, commits: Iterable[Commit]) -> Self:
        """Return the columns of some commits."""
        resources, values = Numbers(), Numbers(None)
        file = _FILE
        rows: list[tuple[int, int, int, int, bool, int]] = []
        for commit in commits:
            token = ABSENT if commit.token is None else commit.token
            number = resources[commit.resource], token, values[commit.value]
            rows.append((commit.seq, *number, commit.fence, commit.line))
            file = commit.file
        fields = np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(len(rows), len(_FIELDS)).T)
        columns: dict[str, Any] = dict(zip(_FIELDS, fields, strict=True))
        columns["fence"] = columns["fence"].astype(np.bool_)
        return cls(**columns, resources=list(resources), values=list(values), file=file)

    def __len__(self) -> int:
        return len(self.seq)


class Commits(Sequence[Commit]):
    """Columns as a sequence of commits; each commit is created when it is used."""

    def __init__(self, columns: CommitColumns) -> None:
        self.columns = columns

    @classmethod
    def of(cls, commits: Iterable[Commit]) -> Commits:
        """Return the commits in columns; `Commits` are returned as they are."""
        return commits if isinstance(commits, Commits) else cls(CommitColumns.of(commits))

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, at: int) -> Commit: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Commit, ...]: ...

    def __getitem__(self, at: int | slice) -> Commit | tuple[Commit, ...]:
        places = range(len(self))[at]
        if isinstance(places, range):
            return tuple(self.at(np.arange(places.start, places.stop, places.step)))
        return next(self.at(np.array([places])))

    def __iter__(self) -> Iterator[Commit]:
        for first in range(0, len(self), _AT_ONCE):
            yield from self.at(np.arange(first, min(first + _AT_ONCE, len(self))))

    def at(self, places: Ints) -> Iterator[Commit]:
        """Yield the commits at some places."""
        columns = self.columns
        rows = zip(*(getattr(columns, name)[places].tolist() for name in _FIELDS), strict=True)
        for seq, resource, token, value, fence, line in rows:
            yield Commit(
                seq=seq,
                resource=columns.resources[resource],
                token=None if token == ABSENT else token,
                value=columns.values[value],
                fence=fence,
                line=line,
                file=columns.file,
            )
