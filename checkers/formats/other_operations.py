"""The operations of a history that a model does not have, and that an export by that model leaves out.

Some do not affect the object, as calls on locks do nothing to a register. Without the
others a right history may look wrong; if only reads are left, nothing explains them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from checkers.formats.event import Call
from checkers.formats.operations import ELSEWHERE, QUESTIONS, VOCABULARY, unrelated, with_article
from checkers.text.errors import HistoryError
from checkers.text.printable import shorten

_MOST_NAMED = 5  # operations


def operations_of(model: str, calls: Sequence[Call], file: str) -> list[Call]:
    """Return the calls that a model knows; HistoryError if nothing can be judged by them alone."""
    kept, others = _split(model, calls)
    changing = [call for call in others if call.f not in unrelated(model)]
    if others and not kept:
        problem = f"{with_article(model)} has none of these operations: {_named(others)}"
        raise HistoryError(file, others[0].lines[0], f"{problem}; {_way_out(kept, others)}")
    if changing and all(call.f in QUESTIONS for call in kept):
        problem = f"{with_article(model)} does not have {_named(changing)}, and without {_those(changing)}"
        problem += f" nothing explains what was read; {_way_out(kept, others)}"
        raise HistoryError(file, changing[0].lines[0], problem)
    return kept


def not_kept(model: str, calls: Sequence[Call]) -> Iterator[str]:
    """Yield sentences about the calls that `operations_of` leaves out."""
    kept, others = _split(model, calls)
    harmless = [call for call in others if call.f in unrelated(model)]
    changing = [call for call in others if call.f not in unrelated(model)]
    a_model = with_article(model)
    if harmless:
        yield f"{counted(len(harmless))} left out, which cannot change {a_model}: {_named(harmless)}"
    if changing:
        wrong = f"without {_those(changing)}, a right history may look wrong: {_way_out(kept, others)}"
        yield f"{counted(len(changing))} left out, which {a_model} does not have: {_named(changing)}; {wrong}"


def counted(number: int) -> str:
    """Return a number of operations, as the subject of a sentence."""
    return "1 operation is" if number == 1 else f"{number:,} operations are"


def _split(model: str, calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    known = VOCABULARY[model]
    return [call for call in calls if call.f in known], [call for call in calls if call.f not in known]


def _named(calls: Sequence[Call]) -> str:
    """Name some operations, each with its number."""
    found = Counter(call.f for call in calls)
    named = [f"{shorten(name)} ×{number:,}" for name, number in found.most_common(_MOST_NAMED)]
    more = [f"{len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
    return ", ".join([*named, *more])


def _those(calls: Sequence[Call]) -> str:
    return "it" if len(calls) == 1 else "them"


def _way_out(kept: Sequence[Call], others: Sequence[Call]) -> str:
    """Say what can judge the others together with the kept ones."""
    mine, theirs = {call.f for call in kept}, {call.f for call in others}
    fitting = [
        model
        for model, known in VOCABULARY.items()
        if mine <= known and theirs & known and theirs <= known | unrelated(model)
    ]
    return f"export with --model {' or '.join(fitting)}, which has them" if fitting else ELSEWHERE
