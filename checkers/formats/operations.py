"""Calls as the operations of a model: the requests and answers of each kind of object.

Calls that show nothing are left out: failures, except of a refused cas, and reads without an answer. A call
that ended in info, or never ended, may have had its effect, whatever value came with it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from checkers.formats.atoms import Keyword, Symbol
from checkers.formats.event import Call, CallError, Foreign
from checkers.formats.keys import name_of
from checkers.formats.values import Map, pair_of, written
from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.text.errors import HistoryError

_LOCK = frozenset({"acquire", "release"})
VOCABULARY: dict[str, frozenset[str]] = {
    "cas-register": frozenset({"read", "write", "cas"}),
    "counter": frozenset({"read", "add"}),
    "fenced-mutex": _LOCK,
    "kv": frozenset({"get", "put", "append"}),
    "mutex": _LOCK,
    "owned-mutex": _LOCK,
    "reentrant-fenced-mutex": _LOCK,
    "reentrant-mutex": _LOCK,
    "register": frozenset({"read", "write"}),
    "set": frozenset({"read", "add", "remove", "contains"}),
}
"""The operations that each model knows, by the names that histories use."""

LOCKS = frozenset({"acquire", "renew", "release", "revoke", "fence"})
"""The operations on locks and marks in our own histories: no value changes."""

PROTECTED = frozenset({"read", "write", "append", "fence"})
"""The operations on protected values in our own histories: no lock changes."""

JOBS = frozenset({"submit", "take", "execute", "heartbeat"})
"""The operations on queues of jobs in our own histories: neither a lock nor a value changes."""

OURS = (LOCKS | JOBS) - _LOCK  # the operations that only our own histories have
FENCED = frozenset({"fenced-mutex", "reentrant-fenced-mutex"})  # the models whose grants carry tokens
LOCK = "lock"  # the name of the lock in a history that does not name it

_CAS = (
    "the value of a cas is [expected new], or [key [expected new]] where every other value is [key value] too"
)
_KNOWN = frozenset().union(*VOCABULARY.values(), LOCKS, PROTECTED, JOBS)
ELSEWHERE = "judge the history with a tool that knows all its operations, such as Elle for transactions"
"""The advice for operations that no model here knows."""

QUESTIONS = frozenset({"read", "get", "contains"})  # the operations that change nothing
_FENCE = "fence"
_TOKENS = frozenset({_FENCE, "fencetoken", "fencingtoken", "token"})
_TRUTH: dict[Hashable, bool] = {Symbol("true"): True, Symbol("false"): False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """The operations for a model, and the call of each."""

    operations: tuple[Operation, ...]
    calls: tuple[Call, ...]
    failed: tuple[Call, ...] = ()  # without an effect, showing nothing


def operations(history: Foreign, model: str) -> ModelInput:
    """Return the operations of a history under a model.

    Raises:
        HistoryError: the model does not know an operation, or a value is of the wrong kind.
    """
    if history.leased and VOCABULARY[model] == _LOCK:
        problem = f"a hold under a lease may end by itself, which {with_article(model)} cannot express"
        raise HistoryError(history.name, 1, f"{problem}; judge this history without a model")
    left_out = unrelated(model) if history.is_ours else ()
    about = [call for call in history.calls if call.f not in left_out]
    calls = tuple(call for call in about if _tells(_known(call, history, model)))
    failed = tuple(call for call in about if call.outcome is Outcome.FAIL and not call.refused)
    try:
        made = tuple(_operation(call, model) for call in calls)
    except CallError as error:
        raise HistoryError(history.name, error.line, str(error)) from None
    return ModelInput(operations=made, calls=calls, failed=failed)


def unrelated(model: str) -> frozenset[str]:
    """Return the operations that cannot change a model's object: on values for a lock, and the reverse."""
    return JOBS | (PROTECTED if VOCABULARY[model] == _LOCK else LOCKS)


def with_article(noun: str) -> str:
    """Put "a" or "an" before a word."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def resource(call: Call, model: str) -> str:
    """Return the name of a call's object."""
    if call.key is not None:
        return name_of(call.key)
    return LOCK if model.endswith("mutex") else model.removeprefix("cas-")


def token(call: Call) -> int | None:
    """Return the fencing token of a grant; None if there is none.

    It is the ok's value, its field `token`, `fence` or `fencing-token` in any spelling, or
    the second of two elements; null is none. An ok that only repeats the request carries none.

    Raises:
        CallError: the value is no token.
    """
    answer = call.answered
    if answer is NO_VALUE or answer == call.asked:
        return None
    if isinstance(answer, Map):
        fields = {(_spelled(key), value) for key, value in answer.items if _spelled(key) in _TOKENS}
        if not fields or fields == {(_FENCE, 0)}:
            return None  # Hazelcast's fence of 0 means none
        tokens = {value for _, value in fields}
        answer = tokens.pop() if len(tokens) == 1 else answer
    elif isinstance(answer, tuple) and (pair := pair_of(answer)):
        answer = pair[1]
    if answer is None or isinstance(answer, int):
        return answer
    raise _wrong(call, -1, "the ok of an acquire carries its token, a whole number", call.answered)


def _spelled(key: Hashable) -> str:
    """Return the name of a field without a language's spelling: `:lock/fencing-token` is `fencingtoken`."""
    name = key.name.rpartition("/")[-1] if isinstance(key, Keyword) else key
    return name.replace("-", "").replace("_", "").lower() if isinstance(name, str) else ""


def _known(call: Call, history: Foreign, model: str) -> Call:
    if call.f not in VOCABULARY[model]:
        known = ", ".join(sorted(VOCABULARY[model]))
        others = [name for name, words in VOCABULARY.items() if call.f in words]
        hint = f"; {', '.join(others)} {'do' if len(others) > 1 else 'does'}" if others else ""
        problem = f"{model} has no operation {call.f!r:.80}, only {known}{hint}{_way_out(history, model)}"
        raise HistoryError(history.name, call.lines[0], problem)
    return call


def _way_out(history: Foreign, model: str) -> str:
    """Say what to do with a history that has operations unknown to the model."""
    names = {call.f for call in history.calls}
    if VOCABULARY[model] == _LOCK and names & OURS:
        return (
            f"; leases may end by themselves, which {with_article(model)} cannot express: if this was"
            " exported from a Fencepost run, judge that, with `fencepost recheck RUN` and no --model"
        )
    if not names & VOCABULARY[model]:
        strange = sorted(names - _KNOWN)
        return f"; no model here has {strange[0]!r:.80}: {ELSEWHERE}" if strange else ""
    if names - VOCABULARY[model] <= unrelated(model):
        return f"; `fencepost export --model {model}` keeps only the operations of {with_article(model)}"
    return f"; without its other operations, a right history may look wrong: {ELSEWHERE}"


def _tells(call: Call) -> bool:
    if call.outcome is Outcome.FAIL:
        return call.refused
    return call.outcome is Outcome.OK or call.f not in QUESTIONS


def _operation(call: Call, model: str) -> Operation:
    return Operation(
        f=call.f,
        process=call.process,
        input=_input(call, model),
        output=_output(call, model),
        outcome=call.outcome,
        called=call.called,
        returned=call.returned,
        key=call.key,
    )


def _input(call: Call, model: str) -> Hashable:
    """Return the input of a call; None for a lock, whose holder is the process."""
    if model.endswith("mutex") or call.f in {"read", "get"}:
        return None
    if call.f == "cas" and pair_of(call.asked) is None:
        raise _wrong(call, 0, _CAS, call.asked)
    if model == "counter" and type(call.asked) is not int:
        raise _wrong(call, 0, "a counter adds whole numbers", call.asked)
    if model == "kv" and not isinstance(call.asked, str):
        raise _wrong(call, 0, f"{call.f} takes a text", call.asked)
    return call.asked


def _output(call: Call, model: str) -> Hashable:
    """Return the answer, if it means anything in the model."""
    if call.outcome is Outcome.FAIL:
        return call.seen
    if call.outcome is Outcome.INFO:
        return NO_VALUE
    if model in FENCED and call.f == "acquire":
        given = token(call)
        return NO_VALUE if given is None else given
    if call.f not in QUESTIONS:
        return NO_VALUE
    return _answer(call, model)


def _answer(call: Call, model: str) -> Hashable:
    answer = call.answered
    match model:
        case "set" if call.f == "read":
            if not isinstance(answer, tuple | frozenset):
                raise _wrong(call, -1, "a set is read as a collection", answer)
            elements = frozenset(answer)
            return elements if len(elements) == len(answer) else answer  # no set holds an element twice
        case "set":
            if answer not in _TRUTH:
                raise _wrong(call, -1, "contains answers true or false", answer)
            return _TRUTH[answer]
        case "counter" if type(answer) is not int:
            raise _wrong(call, -1, "a counter is read as a whole number", answer)
        case "kv" if not isinstance(answer, str | None):
            raise _wrong(call, -1, "get answers a text", answer)
        case "kv":
            return answer or ""
    return answer


def _wrong(call: Call, line: int, rule: str, value: object) -> CallError:
    return CallError(call.lines[line], f"{rule}, not {written(value)}")
