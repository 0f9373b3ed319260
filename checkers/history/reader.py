"""Read and validate a history: the requests of the clients, and the answers to them.

A history is a header, then one event per line in the order of time. Events that sequential
processes cannot have recorded are refused with file, line and value: no verdict is better
than a verdict on something that did not happen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from checkers.history.assembly import Assembly
from checkers.history.event_columns import read_events
from checkers.history.files import opened
from checkers.history.gc_pause import gc_paused
from checkers.history.jsonl import MAX_LINE, Line, batches, decode, decoded, half_written, lines_of
from checkers.history.lines import FAULT_DECODER, ClientLine, FaultLine, HeaderLine, is_fault
from checkers.history.plain_text import IrregularError
from checkers.history.records import DEFAULT_REQUIRE, Header, History
from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.nearest import nearest
from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.counts import COVERAGE
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import CELLS


class _Version(msgspec.Struct):
    """The one field of a header that every version has."""

    fencepost: Any


VERSIONS = (1,)  # the supported versions of history.jsonl
_VERSION = msgspec.json.Decoder(_Version)
_HEADER = msgspec.json.Decoder(HeaderLine)
_CLIENT = msgspec.json.Decoder(ClientLine)
_HEADER_EXAMPLE = '{"fencepost":1,"target":"a name","fenced":true,"policy":"strict"}'


def read(path: str | os.PathLike[str], *, within: Path | None = None) -> History:
    """Read a history.jsonl.

    `within`: the folder above it whose content is not trusted; no link in it is followed.

    Raises:
        HistoryError: it is not the record of a run; the message has file, line and value.
    """
    path = Path(path)
    name = str(path)
    with opened(path, limits.HISTORY, limits.SPLIT, within) as file:
        history = _read_plain(file, name)
        file.seek(0)
        return history or parse(lines_of(file, name), name)


def _read_plain(file: BufferedReader, name: str) -> History | None:
    """Read a history in the layout of our recorders; return None if it needs the careful reader."""
    first = file.readline(MAX_LINE)
    if not first.endswith(b"\n"):
        return None
    header = _read_header(Line(name, 1, first), name)
    try:
        return read_events(file, header, name)
    except IrregularError:
        return None


def parse(lines: Iterable[str | bytes], name: str = "history") -> History:
    """Read a history from its lines; `name` is the file's name in messages.

    A half-written last line, as a killed recorder leaves it, is dropped with a notice.

    Raises:
        HistoryError: the lines are not the record of a run.
    """
    numbered = batches(lines, name)
    first = next(numbered, None)
    assembly = Assembly(_read_header(first[0] if first else None, name))
    events = chain([first[1:]] if first else [], numbered)
    with gc_paused():
        for line, event in decoded(events, _CLIENT, _decoded):
            if event is None:
                assembly.notices.append(half_written(line.file, line.number))
            else:
                assembly.add(line, event)
        return assembly.finish()


def _decoded(line: Line) -> ClientLine | FaultLine | None:
    return decode(line, FAULT_DECODER if is_fault(line.text) else _CLIENT)


def _read_header(line: Line | None, name: str) -> Header:
    if line is None:
        raise HistoryError(name, 1, f"the file is empty; a history begins with a header: {_HEADER_EXAMPLE}")
    try:
        header = decode(line, _HEADER)
    except HistoryError as error:
        wrong = _version_problem(line) or error.problem
        raise HistoryError(name, 1, f"{wrong}; the first line is a header: {_HEADER_EXAMPLE}") from None
    if header is None:
        raise line.error(f"the header is only half written; it reads like {_HEADER_EXAMPLE}")
    expect = () if header.expect == "valid" else tuple(header.expect)
    _check_names(line, "anomaly", (*expect, *header.may), ANOMALIES)
    for of_kind, kind in header.faults.items():
        if of_kind in KINDS or kind.count in COVERAGE:
            raise line.error(f"the kind of fault {of_kind!r} or its count has another meaning already")
    counts = (*COVERAGE, *(kind.count for kind in header.faults.values() if kind.count))
    _check_names(line, "count", header.require or (), counts)
    _check_names(line, "hazard", header.hazards.possible if header.hazards else (), map(str, CELLS))
    values = msgspec.structs.asdict(header) | {"expect": expect, "may": tuple(header.may)}
    values |= {"initial_value": header.initial.value, "initial_token": header.initial.token}
    values["require"] = DEFAULT_REQUIRE | (header.require or {})
    del values["fencepost"], values["initial"]
    return Header(**values)


def _version_problem(line: Line) -> str | None:
    """Return the problem with the version of a header; None if it has no version, or a supported one."""
    try:
        version = _VERSION.decode(line.text).fencepost
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    if version in VERSIONS:
        return None
    read_ones = ", ".join(map(str, VERSIONS))
    return f"its version is {version!r:.40}, and this release of Fencepost reads version {read_ones}"


def _check_names(line: Line, what: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = tuple(known)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
            raise line.error(f"there is no {what} {name[:40]!r}; {hint}")
