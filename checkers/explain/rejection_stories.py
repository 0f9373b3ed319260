"""How it is told that a write was refused without a cause, or that one of two answers was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from checkers.conflict import Conflict, Rule
from checkers.explain.cycles import Question, cycle
from checkers.explain.edges import Refusal
from checkers.explain.narrator import Excuse, Narrator, Story
from checkers.explain.phrases import content
from checkers.history.records import Op

_FAR = 1 << 63  # ns; later than everything
_MOST_EXCUSES = 2  # told; all are checked


def _no_cause(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    least = n.least_above(write)
    in_time = n.index.raising(write.resource, least, write.returned or 0)
    excuses = n.excuses(write, [*in_time, *n.strays(write.resource, least)])
    return Story(
        summary=(
            f"{n.whom(write)} was told that its write of {content(write.value)} with token {write.token}"
            f" to {write.resource} was stale, though no newer token can have been accepted"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)} with token {write.token} {n.sent(write)}.",
            (
                f"The storage refused it as stale {n.answered(write)}, which is right only once it has"
                f" accepted a token of {least} or more."
            ),
            *_too_late(n, write, least, excuses),
            f"So nothing can have made token {write.token} stale: it was refused without a cause.",
        ),
        others=tuple(op for excuse in excuses for op in excuse.operations),
    )


def _too_late(n: Narrator, write: Op, least: int, excuses: Sequence[Excuse]) -> Iterator[str]:
    """Why nothing with such a token can have been accepted in time."""
    later = [op for op in n.index.raising(write.resource, least, _FAR) if op.called > (write.returned or 0)]
    fenced = any(op.f == "fence" for op in (*later, *(excuse.op for excuse in excuses)))
    kinds = "write to" if not fenced else "write or fence on"
    accepted = "" if excuses or n.log is None else "that can have been accepted "
    sent = f"But every {kinds} {write.resource} {accepted}with such a token was sent only after that"
    if excuses:
        yield f"{sent}, or cannot have been accepted by then."
    elif later:
        first = min(later, key=lambda op: op.called)
        yield f"{sent}: the first, {_with_token(n, first)}, {n.sent(first)}."
    else:
        yield f"But no write to {write.resource} with such a token was ever accepted, or can have been."
    for excuse in excuses[:_MOST_EXCUSES]:
        yield f"{_capital(n.name(excuse.op))} was sent {n.sent(excuse.op)}, but {excuse.why}."


def _with_token(n: Narrator, op: Op) -> str:
    return n.name(op) if op.f == "fence" else f"{n.name(op)}{n.with_token(op)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _false_or_stale(n: Narrator, conflict: Conflict) -> Story:
    op, rejected = conflict.accused, conflict.because[0]
    did = {"read": "read", "fence": "fenced"}.get(op.f, "wrote")
    reached = n.shown(op)
    log = n.logged(conflict)
    raising = (each for each in conflict.proof if each.f != "read" and each != rejected)
    least = reached + 1 if log is None else n.least_above(rejected)
    cause = next(each for each in (raising if log is None else log) if (each.token or 0) >= least)
    in_time = n.index.raising(rejected.resource, n.least_above(rejected), rejected.returned or 0)
    lower = [each for each in in_time if (each.token or 0) <= reached]
    excuses = n.excuses(rejected, lower) if log is None else []  # a log says which was the first
    return Story(
        summary=(
            f"either the storage wrongly refused {content(rejected.value)} with token {rejected.token}"
            f" on {op.resource}, or what {n.whom(op)} {did} afterwards with token {reached} was"
            " stale"
        ),
        steps=cycle(
            n,
            Question(
                proof=conflict.proof,
                fenced=log is None,
                log=log,
                refusal=Refusal(
                    rejected=rejected,
                    cause=cause,
                    reached=reached,
                    why_none=_none(n, excuses),
                ),
                accused=op,
            ),
            f"either the refusal was false, or {n.name(op)} with the lower token {reached} was stale",
        ),
        others=tuple(each for excuse in excuses for each in excuse.operations),
    )


def _none(n: Narrator, excuses: Sequence[Excuse]) -> str:
    """Why no lower token can have been the reason for a refusal."""
    if not excuses:
        return "as no write with such a token had been sent by then that can have been accepted"
    told = (f"{n.name(excuse.op)} was too late ({excuse.why})" for excuse in excuses[:_MOST_EXCUSES])
    return f"as {' and '.join(told)}"


REFUSAL_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.NO_CAUSE: _no_cause,
    Rule.FALSE_OR_STALE: _false_or_stale,
}
