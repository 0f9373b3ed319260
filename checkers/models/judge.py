"""Judges histories of other tools: is there an order of the operations that a model allows?

    judged = judge_foreign(Path("history.edn"), "cas-register")
    judged.verdict.to_document()

A lock whose grants carry tokens is also judged by its tokens: two holds with the
same token, or a later one with a lower token. Violations that this explains are not reported twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from checkers import formats
from checkers.formats.event import Foreign
from checkers.formats.grants import grants_of
from checkers.formats.initial_values import HAS_INITIAL
from checkers.formats.keys import name_of
from checkers.formats.operations import FENCED, ModelInput, token, with_article
from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.budget import MIB, Budget
from checkers.models.explain.stories import failed_source, gave_up, story
from checkers.models.initial_values import BELOW_ALL, other_starts, state_of
from checkers.models.model_verdict import Clash, ModelVerdict
from checkers.models.mutex import judge_mutex
from checkers.models.objects import MODELS as OBJECTS
from checkers.models.objects import (
    CasRegister,
    Fenced,
    FencedMutex,
    FencedNested,
    Model,
    OwnedMutex,
    ReentrantFencedMutex,
    Register,
)
from checkers.models.register import judge_register
from checkers.models.search import BUDGET, search
from checkers.text.errors import HistoryError, ModelError
from checkers.text.nearest import nearest
from checkers.verdict.findings import doubts_of
from checkers.verdict.judge import judge
from checkers.vocabulary.reasons import Reason, ReasonKind
from checkers.vocabulary.verdict import CheckerResult, Finding, Validity, Verdict

MODELS: dict[str, Callable[[], Model]] = OBJECTS | {
    "fenced-mutex": lambda: FencedMutex(Fenced(None, BELOW_ALL)),
    "reentrant-fenced-mutex": lambda: ReentrantFencedMutex(FencedNested(None, 0, BELOW_ALL, None)),
}
"""The models by which a history can be judged, by name."""

_UNTOLD = Reason(
    ReasonKind.NOT_EXERCISED,
    "no acquire carries a token",
    "its ok may have it as its value, as :token or :fence of a map, or as the second of two elements",
)
_NOTHING_SHOWN = Reason(
    ReasonKind.NOT_EXERCISED,
    "the history has no operation that shows anything",
    "a failure says nothing, and neither does a read without an answer",
)
_WITHOUT_TOKENS = {"fenced-mutex": "owned-mutex", "reentrant-fenced-mutex": "reentrant-mutex"}
_PROOF_BUDGET = Budget(bytes=32 * MIB, steps=100_000, steps_per_operation=30)  # for each attempt to drop some
_OF_TOKENS = ("duplicate-token", "token-regression")


class ForeignVerdict(NamedTuple):
    """A verdict, with the notices about the file."""

    verdict: Verdict
    notices: tuple[str, ...]


def judge_foreign(
    path: str | os.PathLike[str], model: str, budget: Budget = BUDGET, initial: object = NO_VALUE
) -> ForeignVerdict:
    """Judge a history in any format by a model of `MODELS`, from the object's initial value.

    Raises:
        HistoryError: it is not a history, or not one of that model.
        ModelError: there is no such model, or it cannot start with that value.
    """
    _check_known(model)
    return judge_read(formats.read(Path(path)), model, budget, initial)


def judge_read(
    history: Foreign, model: str, budget: Budget = BUDGET, initial: object = NO_VALUE
) -> ForeignVerdict:
    """Judge a history that has been read, like `judge_foreign`, with the same errors."""
    _check_known(model)
    start = _start(history, model, initial)
    tokens = _tokens(history, model) if model in FENCED else ()
    wrong_tokens = {finding.resource for result in tokens for finding in result.findings}
    order, reasons = _order(history, model, start, budget, wrong_tokens)
    results = (*tokens, order)
    granted = (call for call in history.calls if call.f == "acquire" and call.outcome is Outcome.OK)
    if model in FENCED and all(token(call) is None for call in granted):
        results = tuple(replace(each, validity=max(each.validity, Validity.UNKNOWN)) for each in results)
        reasons = (*reasons, _UNTOLD)
    notices = history.notices
    if history.is_ours and model not in FENCED:
        said = f"{with_article(model)} has no tokens, so those of this history are ignored"
        notices += (f"{history.name}: {said}; without --model they are judged",)
    return ForeignVerdict(_verdict(results, reasons), notices)


def _check_known(model: str) -> None:
    if model not in MODELS:
        near = nearest(model, MODELS)
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(MODELS)}"
        raise ModelError(f"no model is called {model!r}; {hint}")


def _start(history: Foreign, model: str, initial: object) -> Model:
    if initial is NO_VALUE:
        return MODELS[model]()
    if history.is_ours:
        raise HistoryError(history.name, 1, HAS_INITIAL)
    return _started(model, state_of(model, initial))


def _started(model: str, state: Hashable) -> Model:
    start: Any = MODELS[model]()
    started: Model = replace(start, initial=state)
    return started


def _order(
    history: Foreign, model: str, start: Model, budget: Budget, wrong_tokens: set[str]
) -> tuple[CheckerResult, tuple[Reason, ...]]:
    """Search for an order; for locks whose tokens are known to be wrong, without tokens."""
    began = time.perf_counter()
    judged = formats.operations(history, model)
    found = _judge(judged.operations, start, budget)
    findings = _findings(model, start, judged, found)
    if wrong_tokens:
        bare = _WITHOUT_TOKENS[model]
        without = formats.operations(history, bare)
        free = MODELS[bare]()
        rest = _findings(bare, free, without, _judge(without.operations, free, budget))
        findings = [each for each in findings if each.resource not in wrong_tokens]
        findings += [each for each in rest if each.resource in wrong_tokens]
    decided = judged.operations and found.validity is not Validity.UNKNOWN
    result = CheckerResult(
        name=model,
        validity=Validity.INVALID if findings else Validity.VALID if decided else Validity.UNKNOWN,
        evidence="observed",
        seconds=time.perf_counter() - began,
        findings=tuple(findings),
    )
    other_start = () if history.is_ours else _other_start(model, judged, found)
    return result, (*_reasons(found, judged), *other_start)


def _judge(operations: Sequence[Operation], start: Model, budget: Budget) -> ModelVerdict:
    """Is there an order? Decided by pairs of blocks if possible, else by a search."""
    match start:
        case Register() | CasRegister():
            return judge_register(operations, start.initial, budget)
        case OwnedMutex(initial=None):
            return judge_mutex(operations, budget)
    return search(operations, start, budget)


def _findings(model: str, start: Model, judged: ModelInput, found: ModelVerdict) -> list[Finding]:
    judge_again = partial(_judge, start=start, budget=_PROOF_BUDGET)
    return [story(model, start.initial, judged, conflict, judge_again) for conflict in found.conflicts]


def _other_start(model: str, judged: ModelInput, found: ModelVerdict) -> Iterator[Reason]:
    """Yield the initial value that explains the first object whose answers no order explains."""
    for conflict in found.conflicts[:1]:
        position = conflict.operations[-1] if isinstance(conflict, Clash) else conflict.operation
        if failed_source(judged, judged.calls[position]) is not None:
            return
        key = judged.operations[position].key
        about = [operation for operation in judged.operations if operation.key == key]
        for start in other_starts(model, conflict, judged.operations):
            if _judge(about, _started(model, start.state), _PROOF_BUDGET).validity is Validity.VALID:
                on = "" if key is None else f" on {name_of(key)}"
                said = f"the answers{on} are possible if {start.words}: {start.remedy}"
                yield Reason(ReasonKind.OTHER_START, said)
                return


def _tokens(history: Foreign, model: str) -> tuple[CheckerResult, ...]:
    """Return the violations shown by the tokens of the grants alone."""
    formats.operations(history, model)  # refuses the history of anything but a lock
    verdict = judge(grants_of(history, reentrant=model.startswith("reentrant")))
    return tuple(result for result in verdict.checkers if result.name in _OF_TOKENS)


def _reasons(found: ModelVerdict, judged: ModelInput) -> tuple[Reason, ...]:
    if not judged.operations:
        return (_NOTHING_SHOWN,)
    if found.validity is not Validity.UNKNOWN:
        return ()
    said = (gave_up(judged.calls[each.operation], each.spent) for each in found.gave_up)
    return tuple(Reason(ReasonKind.GAVE_UP, each) for each in said)


def _verdict(results: tuple[CheckerResult, ...], reasons: tuple[Reason, ...]) -> Verdict:
    findings = _first_of_each_event([finding for result in results for finding in result.findings])
    names = [result.name for result in results[:-1]]
    counted = dict.fromkeys([*names, "non-linearizable"], 0)
    for finding in findings:
        counted[finding.anomaly] += 1
    validity = max(result.validity for result in results)
    unexpected = (Reason(ReasonKind.UNEXPECTED, name) for name, count in counted.items() if count)
    return Verdict(
        validity=validity,
        expected=(),
        as_expected=validity is Validity.VALID,
        reasons=(*unexpected, *reasons, *doubts_of(findings)),
        anomalies=counted,
        findings=findings,
        coverage={},
        checkers=results,
    )


def _first_of_each_event(findings: list[Finding]) -> tuple[Finding, ...]:
    """Keep one finding for each grant with a wrong token, under the first name that fits."""
    first: dict[object, Finding] = {}
    for finding in findings:
        is_order = finding.anomaly not in _OF_TOKENS
        first.setdefault((is_order, finding.resource, finding.accused), finding)
    return tuple(first.values())
