"""Read a commits.jsonl: the storage's own order of accepted writes and fences."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from checkers.history.columns import ABSENT, Ints, Numbers
from checkers.history.commit_columns import CommitColumns, Commits
from checkers.history.files import opened
from checkers.history.gc_pause import gc_paused
from checkers.history.growing import Column, GrowingColumns, chunks
from checkers.history.jsonl import MAX_LINE, batches, decode, decoded, lines_of
from checkers.history.lines import CommitLine
from checkers.history.plain_text import IrregularError, require
from checkers.history.ranks import stable_order
from checkers.history.records import Commit
from checkers.history.scanner import Scan
from checkers.text import limits

_DECODER = msgspec.json.Decoder(CommitLine)


def read_commits(path: str | os.PathLike[str], *, within: Path | None = None) -> Sequence[Commit]:
    """Read a commits.jsonl: the storage's own order of accepted writes and fences; `within` is as in `read`.

    Raises:
        HistoryError: a line is not a commit, or a resource's `seq` does not rise.
    """
    path = Path(path)
    with gc_paused(), opened(path, limits.COMMITS, limits.SPLIT, within) as file:
        try:
            return Commits(_scanned(file, str(path)))
        except IrregularError:  # it may still be valid; if not, the careful reader reports the error
            file.seek(0)
            return Commits.of(_parsed(file, str(path)))


def _parsed(file: BinaryIO, name: str) -> Iterator[Commit]:
    last: dict[str, int] = {}
    numbered = batches(lines_of(file, name, limits.COMMITS), name)
    for line, commit in decoded(numbered, _DECODER, lambda line: decode(line, _DECODER)):
        if commit is None:
            raise line.error("the last line is only half written; read the storage's order again")
        if commit.seq <= last.get(commit.resource, -1):
            problem = f"seq {commit.seq} does not come after {last[commit.resource]}"
            raise line.error(f"{problem}; commits are in the storage's own order, each with its own seq")
        last[commit.resource] = commit.seq
        value = None if commit.value is msgspec.UNSET else commit.value
        yield Commit(**msgspec.structs.asdict(commit) | {"value": value}, line=line.number, file=line.file)


def _scanned(file: BinaryIO, name: str) -> CommitColumns:
    """Return the columns of a plain log; raise IrregularError if only a parser can read it."""
    resources, values = Numbers(), Numbers(None)
    growing = GrowingColumns()
    for chunk in chunks(file):
        require(chunk.endswith(b"\n"))
        growing.add(_columns(chunk, resources, values))
    require(growing.count > 0)
    columns = growing.take()
    order = stable_order(columns["resource"])
    seq, resource = columns["seq"][order], columns["resource"][order]
    require(np.all((seq[1:] > seq[:-1]) | (resource[1:] != resource[:-1])))  # it rises in each resource
    lines = np.arange(1, growing.count + 1)
    return CommitColumns(**columns, line=lines, resources=list(resources), values=list(values), file=name)


def _columns(chunk: bytes, resources: Numbers, values: Numbers) -> dict[str, Column]:
    scan = Scan.of(chunk, CommitLine.__struct_fields__)
    require(scan.longest <= MAX_LINE)
    seq, resource, token, value, fence = (scan.fields[name] for name in CommitLine.__struct_fields__)
    has_value, is_fence = np.zeros((2, scan.count), dtype=np.bool_)
    has_value[value.lines] = True
    is_fence[fence.lines] = fence.flags()
    tokens, numbers = np.full(scan.count, ABSENT), np.zeros(scan.count, dtype=np.int64)
    tokens[token.lines] = token.integers()
    found = value.numbers(values)
    numbers[value.lines] = np.where(value.is_null, 0, found)
    require(len(seq.lines) == len(resource.lines) == scan.count)
    require(not (np.any(seq.is_null) or np.any(resource.is_null)))
    require(np.all(np.where(is_fence, (tokens != ABSENT) & (numbers == 0), has_value)))
    columns: dict[str, Ints] = {"seq": seq.integers(), "resource": resource.numbers(resources)}
    return {**columns, "token": tokens, "value": numbers, "fence": is_fence}
