"""Notices: how a run was judged, whatever the verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from checkers.facts.evidence import Evidence, in_columns
from checkers.facts.narrowing import count_of_grants, grants_without
from checkers.facts.token_shapes import shape_of
from checkers.history.columns import ACQUIRE, APPEND, NEVER, OK, WRITE, Columns, Ints
from checkers.history.records import ENDED, RAISED, UNUSABLE, Outcome
from checkers.rules.double_grants import under_faults
from checkers.text.printable import shorten

_SECOND = 10**9  # ns
_SLOW = 4 * _SECOND  # a first grant after this is late


TOKENS_LOOK_LIKE = "the tokens look like "
"""The beginning of the notice about tokens that a fence cannot rely on; a comma follows."""


def notices(evidence: Evidence) -> Iterator[str]:
    """Yield what no verdict says: how the lock was granted, and where the rules may miss something."""
    why = _reason_for_no_grant(evidence)
    yield from _never_granted(evidence, why)
    yield from _granted_late(evidence)
    yield from _unusable(evidence, why)
    yield from _raised(evidence, why)
    yield from _ended(evidence, why)
    yield from _without_tokens(evidence)
    yield from _misleading_tokens(evidence)
    yield from _held_by_two(evidence)
    yield from _empty_order(evidence)
    yield from _not_complete(evidence)


def _never_granted(evidence: Evidence, most: Frequent | None) -> Iterator[str]:
    """Report what the clients got instead: usually the same error in every answer."""
    acquires = [] if count_of_grants(evidence) else list(evidence.named("acquire"))
    if not acquires:
        return
    refused = sum(op.outcome is Outcome.FAIL for op in acquires)
    open_at_end = sum(op.learned is None for op in acquires)
    unusable = len(acquires) - refused
    said = [f"{unusable} of {len(acquires)} acquires got no usable answer"] if unusable else []
    if refused:
        of_all = "" if unusable else f" of {len(acquires)} acquires"
        said += [f"{refused}{of_all} {'was' if refused == 1 else 'were'} refused"]
    if open_at_end:
        said += [f"and {open_at_end} had no answer when the recording ended"]
    reason = f"; the most frequent reason, {most.times} of {len(acquires)}: " if most else ""
    yield f"the lock was never granted: {', '.join(said)}{reason}{shorten(most.example) if most else ''}"


def _reason_for_no_grant(evidence: Evidence) -> Frequent | None:
    """Return the most frequent error where the lock was never granted."""
    acquires = () if count_of_grants(evidence) else evidence.named("acquire")
    return most_frequent(op.error for op in acquires if op.error)


def _granted_late(evidence: Evidence) -> Iterator[str]:
    """Report that the lock was first granted after a quarter of the run: little of it was tested."""
    columns = in_columns(evidence).columns
    grants = columns.returned[(columns.f == ACQUIRE) & (columns.outcome == OK)]
    if not len(grants):
        return
    began = columns.called.min()
    waited = int(grants.min() - began)
    lasted = int(columns.returned[columns.returned != NEVER].max() - began)
    if waited > _SLOW and 4 * waited > lasted:
        yield (
            f"the first grant came {waited / _SECOND:.1f} s after the first request,"
            f" of {lasted / _SECOND:.1f} s in all:"
            " a client program should make one request before it answers start"
        )


def _unusable(evidence: Evidence, known: Frequent | None) -> Iterator[str]:
    """Report answers that did not follow the line protocol, which made outcomes unknown."""
    number, first = _with_error(evidence, UNUSABLE)
    if number and not _is_said(known, first, number):
        counted = "1 answer was" if number == 1 else f"{number} answers were"
        yield f"{counted} unusable, so {_unknown(number)}{_said_once(known, 'the first', first)}"


def _raised(evidence: Evidence, known: Frequent | None) -> Iterator[str]:
    """Report mistakes in a user's class: most often, every call makes the same."""
    columns = in_columns(evidence).columns
    rows = _rows_with_error(columns, RAISED)
    most = most_frequent(columns.errors[number] for number in columns.error[rows].tolist())
    if most and not _is_said(known, most.example, len(rows)):
        title = f"the most frequent, {most.times:,} of {len(rows):,}"
        counted = "1 call" if len(rows) == 1 else f"{len(rows):,} calls"
        yield (
            f"{counted} ended with a Python error, so {_unknown(len(rows))}"
            f"{_said_once(known, title, most.example)}"
        )


def _unknown(number: int) -> str:
    return "its outcome is unknown" if number == 1 else "their outcomes are unknown"


def _ended(evidence: Evidence, known: Frequent | None) -> Iterator[str]:
    """Report a program that exited by itself: it was started again, and its run continued."""
    number, first = _with_error(evidence, ENDED)
    if number:
        counted = "1 call" if number == 1 else f"{number} calls"
        yield (
            f"the client program ended before it had answered {counted}, and was started again"
            f"{_said_once(known, 'the first', first)}; what it printed last is in the run's folder logs"
        )


def _said_once(known: Frequent | None, title: str, error: str) -> str:
    """Add an error to a notice, unless the notice about a lock that was never granted has it."""
    return "" if known is not None and known.kind == kind_of(error) else f"; {title}: {shorten(error)}"


def _is_said(known: Frequent | None, error: str, number: int) -> bool:
    """Does the notice about a lock that was never granted have an error as often?"""
    return known is not None and (known.kind, known.times) == (kind_of(error), number)


def _with_error(evidence: Evidence, start: str) -> tuple[int, str]:
    """Count the operations whose error begins so, and return the first such error."""
    columns = in_columns(evidence).columns
    rows = _rows_with_error(columns, start)
    return len(rows), columns.errors[columns.error[rows[0]]] if len(rows) else ""


def _rows_with_error(columns: Columns, start: str) -> Ints:
    """Return the operations whose error begins so."""
    errors = [number for number, said in enumerate(columns.errors) if said.startswith(start)]
    return np.flatnonzero(np.isin(columns.error, errors))


def _without_tokens(evidence: Evidence) -> Iterator[str]:
    """Report that real time replaced tokens, and what that cannot show."""
    total, without = count_of_grants(evidence), grants_without(evidence, "token")
    if without:
        which = "this lock gives no fencing token"
        if without < total:
            which = f"{without} of {total} grants came without a fencing token"
        yield (
            f"{which}: holds were ordered by what is"
            " certain in real time, which gives no order to grants that overlap; duplicate-token and"
            " token-regression had nothing to compare"
        )


def _held_by_two(evidence: Evidence) -> Iterator[str]:
    """Report holders that no lease and no fault surely explains."""
    if number := under_faults(evidence):
        times = "once" if number == 1 else f"{number:,} times"
        yield (
            f"{times}, two clients held the lock at once, without a promised lease, while faults were in"
            " force: sessions may have ended then, so nothing is wrong for certain"
        )


def _misleading_tokens(evidence: Evidence) -> Iterator[str]:
    """Report tokens that look like numbers but are none."""
    shape = shape_of(in_columns(evidence).columns, evidence.history.header.clients)
    if shape is not None:
        yield (
            f"{TOKENS_LOOK_LIKE}{shape}, which a fence cannot rely on: a fencing token is a number that"
            " the lock service raises with every grant"
        )


def _empty_order(evidence: Evidence) -> Iterator[str]:
    """Report a storage without any order of writes: a client program may not record it."""
    columns = in_columns(evidence).columns
    accepted = int(np.count_nonzero((columns.outcome == OK) & np.isin(columns.f, (WRITE, APPEND))))
    log = evidence.log
    if log is not None and not len(log) and accepted:
        yield (
            f"the storage's own order of writes is empty, although {accepted} of the clients' writes were"
            " acknowledged: it was lost, or nothing writes it"
        )


def _not_complete(evidence: Evidence) -> Iterator[str]:
    """Report that, with fences that write nothing, the rules are sound but not complete."""
    fenced = evidence.resources("fence")
    log = evidence.log
    if not fenced or not evidence.history.header.fenced or (log is not None and log.has_fences):
        return
    where = _some(fenced)
    decides = (
        "the storage's own order of writes and fences would decide"
        if log is None
        else "the storage's own order has no fences, so it was not decided"
    )
    yield (
        f"{where} was fenced without a write: the rules for what clients saw of it never accuse wrongly,"
        f" but may miss a violation; {decides}"
    )


def _some(resources: list[str]) -> str:
    more = len(resources) - 3
    return ", ".join(map(shorten, resources[:3])) + (f" and {more} more" if more > 0 else "")


_VALUES = re.compile(r"(?<!\.py:)\b\w*\d\w*(?:\.\d+)*")
"""What changes from one error to the next: words with digits, but for a line of a Python file."""


class Frequent(NamedTuple):
    """An error, and how often it came, whatever the values in it."""

    kind: str
    example: str  # the first one
    times: int


def most_frequent(errors: Iterable[str]) -> Frequent | None:
    """Return the most frequent of some errors; None if there are none."""
    examples: dict[str, str] = {}
    times: Counter[str] = Counter()
    for error, number in Counter(errors).items():
        kind = kind_of(error)
        examples.setdefault(kind, error)
        times[kind] += number
    return next((Frequent(kind, examples[kind], number) for kind, number in times.most_common(1)), None)


def kind_of(error: str) -> str:
    """Return an error without the values that change from one to the next."""
    return _VALUES.sub("…", error)
