"""What each model allows, and that it keeps what it promises the search."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.objects import (
    IMPOSSIBLE,
    MODELS,
    CasRegister,
    Counter,
    Fenced,
    FencedMutex,
    FencedNested,
    KeyValue,
    Model,
    Mutex,
    Nested,
    OwnedMutex,
    ReentrantFencedMutex,
    ReentrantMutex,
    Register,
    Set,
)
from tests.support.repository import ROOT

DOCUMENTATION = ROOT / "docs/models.md"


def ok(
    f: str, value: int | str | tuple[int, ...] | None = None, answer: Any = NO_VALUE, **others: Any
) -> Operation:
    return Operation(**{"f": f, "input": value, "output": answer, "called": 0, "returned": 1} | others)


def failed(f: str, value: int | str | tuple[int, ...] | None = None, answer: Any = NO_VALUE) -> Operation:
    return ok(f, value, answer, outcome=Outcome.FAIL)


def lost(f: str, value: int | str | tuple[int, ...] | None = None) -> Operation:
    return ok(f, value, outcome=Outcome.INFO, returned=None)


def after(model: Any, *operations: Operation | tuple[Operation, ...]) -> object:
    """The state after operations one by one, or IMPOSSIBLE."""
    state = model.initial
    for op in operations:
        state = model.step(state, op)
        if state is IMPOSSIBLE:
            break
    return state


LOCK = [
    make(f, owner, token)
    for make in (ok, lambda f, owner, _: failed(f, owner), lambda f, owner, _: lost(f, owner))
    for f in ("acquire", "release")
    for owner in "ab"
    for token in (NO_VALUE, 1, 2)
    if not (f == "release" and token is not NO_VALUE)
]
REGISTER = [
    *(ok("read", None, value) for value in (0, 1, None, NO_VALUE)),
    *(make("write", value) for make in (ok, failed, lost) for value in (0, 1, None)),
]
CAS = [make("cas", pair) for make in (ok, failed, lost) for pair in itertools.product((0, 1), repeat=2)] + [
    failed("cas", (0, 1), 1),
    failed("cas", (0, 1), 0),
]
ASKED = {
    "register": REGISTER,
    "cas-register": REGISTER + CAS,
    "mutex": LOCK,
    "owned-mutex": LOCK,
    "fenced-mutex": LOCK,
    "reentrant-mutex": LOCK,
    "reentrant-fenced-mutex": LOCK,
    "set": [
        *(make(f, x) for make in (ok, failed, lost) for f in ("add", "remove", "contains") for x in (0, 1)),
        *(ok(f, 0, answer) for f in ("add", "remove", "contains") for answer in (True, False)),
        *(ok("read", None, answer) for answer in (frozenset(), frozenset({0}), NO_VALUE)),
    ],
    "counter": [
        *(make("add", by) for make in (ok, failed, lost) for by in (1, -1)),
        *(ok("add", 1, total) for total in (1, 2)),
        *(ok("read", None, total) for total in (0, 1, NO_VALUE)),
    ],
    "kv": [
        *(make(f, text) for make in (ok, failed, lost) for f in ("put", "append") for text in "ab"),
        *(ok("get", None, text) for text in ("", "a", "ab", NO_VALUE)),
    ],
}


def reached(model: Model, operations: list[Operation]) -> set[object]:
    """States that few operations lead to."""
    states = {model.initial}
    for _ in range(3):
        states |= {model.step(state, op) for state in states for op in operations} - {IMPOSSIBLE}
    return states


@pytest.mark.parametrize("name", sorted(MODELS))
def test_operations_of_one_kind_have_one_step(name: str) -> None:
    model: Any = MODELS[name]()
    operations = ASKED[name]
    states = reached(model, operations)

    for one, other in itertools.combinations(operations, 2):
        if model.kind(one) == model.kind(other):
            assert all(model.step(state, one) == model.step(state, other) for state in states), (one, other)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_reads_and_failures_change_nothing(name: str) -> None:
    model, operations = MODELS[name](), ASKED[name]
    is_read = getattr(model, "is_read", lambda _: False)

    for state in reached(model, operations):
        for op in operations:
            if op.outcome is Outcome.FAIL or is_read(op):
                assert model.step(state, op) in {state, IMPOSSIBLE}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_an_operation_that_a_model_does_not_know_is_impossible(name: str) -> None:
    model = MODELS[name]()

    assert model.step(model.initial, ok("no such thing", 1)) is IMPOSSIBLE


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_distinguishes_its_objects_and_kinds(name: str) -> None:
    model: Any = MODELS[name]()

    assert callable(model.kind)
    assert model.key(ok("read", key="x")) == "x"


def test_a_register_answers_what_was_written_last() -> None:
    assert after(Register(), ok("write", 1), ok("write", 2), ok("read", None, 2)) == 2
    assert after(Register(), ok("write", 1), ok("write", 2), ok("read", None, 1)) is IMPOSSIBLE
    assert after(Register(7), ok("read", None, 7)) == 7


def test_a_cas_writes_only_over_what_it_expects() -> None:
    assert after(CasRegister(0), ok("cas", (0, 1))) == 1
    assert after(CasRegister(0), ok("cas", (1, 2))) is IMPOSSIBLE
    assert after(CasRegister(0), lost("cas", (1, 2))) is IMPOSSIBLE
    assert after(CasRegister(0), failed("cas", (1, 2))) == 0
    assert after(CasRegister(0), failed("cas", (1, 2), 0)) == 0
    assert after(CasRegister(0), failed("cas", (1, 2), 3)) is IMPOSSIBLE
    assert after(CasRegister(0), failed("cas", (0, 2))) is IMPOSSIBLE


def test_a_cas_asks_with_a_pair() -> None:
    with pytest.raises(ValueError, match=r"the input of a cas is \(expected, new\), not 5"):
        after(CasRegister(0), ok("cas", 5))


def test_a_mutex_is_held_by_one() -> None:
    assert after(Mutex(), ok("acquire"), ok("release"), ok("acquire")) is True
    assert after(Mutex(), ok("acquire"), ok("acquire")) is IMPOSSIBLE
    assert after(Mutex(), ok("release")) is IMPOSSIBLE


def test_anybody_releases_a_mutex_and_its_holder_an_owned_one() -> None:
    swapped = ok("acquire", "a"), ok("release", "b")

    assert after(Mutex(), *swapped) is False
    assert after(OwnedMutex(), *swapped) is IMPOSSIBLE
    assert after(OwnedMutex(), ok("acquire", "a"), ok("release", "a")) is None


def test_without_an_owner_the_process_is_the_owner() -> None:
    acquired = ok("acquire", process=3)

    assert after(OwnedMutex(), acquired, ok("release", process=3)) is None
    assert after(OwnedMutex(), acquired, ok("release", process=4)) is IMPOSSIBLE


def test_tokens_rise_from_grant_to_grant() -> None:
    first = ok("acquire", "a", 3), ok("release", "a")

    assert after(FencedMutex(), *first, ok("acquire", "b", 4)) == Fenced("b", 4)
    assert after(FencedMutex(), *first, ok("acquire", "b", 3)) is IMPOSSIBLE
    assert after(FencedMutex(), ok("acquire", "a", 0)) is IMPOSSIBLE


def test_a_fenced_mutex_is_held_by_one_and_released_by_that() -> None:
    held = ok("acquire", "a", 1)

    assert after(FencedMutex(), held, ok("acquire", "a", 2)) is IMPOSSIBLE
    assert after(FencedMutex(), held, ok("release", "b")) is IMPOSSIBLE


def test_a_grant_with_an_unseen_token_took_one() -> None:
    unseen = ok("acquire", "a", 3), ok("release", "a"), lost("acquire", "b"), ok("release", "b")

    assert after(FencedMutex(), *unseen, ok("acquire", "c", 5)) == Fenced("c", 5)
    assert after(FencedMutex(), *unseen, ok("acquire", "c", 4)) is IMPOSSIBLE


def test_a_token_is_an_integer() -> None:
    with pytest.raises(ValueError, match="the output of an acquire is its token, an integer, not 'x'"):
        after(FencedMutex(), ok("acquire", "a", "x"))


def test_a_reentrant_mutex_is_free_after_as_many_releases() -> None:
    twice = ok("acquire", "a"), ok("acquire", "a"), ok("release", "a")

    assert after(ReentrantMutex(), *twice) == Nested("a", 1)
    assert after(ReentrantMutex(), *twice, ok("acquire", "b")) is IMPOSSIBLE
    assert after(ReentrantMutex(), *twice, ok("release", "a"), ok("acquire", "b")) == Nested("b", 1)
    assert after(ReentrantMutex(), ok("release", "a")) is IMPOSSIBLE


def test_a_service_may_limit_how_deep_it_grants() -> None:
    twice = ok("acquire", "a"), ok("acquire", "a")

    assert after(ReentrantMutex(limit=2), *twice) == Nested("a", 2)
    assert after(ReentrantMutex(limit=2), *twice, ok("acquire", "a")) is IMPOSSIBLE
    assert after(ReentrantFencedMutex(limit=1), *twice) is IMPOSSIBLE


def test_an_acquire_within_a_hold_repeats_its_token() -> None:
    model = ReentrantFencedMutex()
    held = ok("acquire", "a", 3)

    assert after(model, held, ok("acquire", "a", 3)) == FencedNested("a", 2, 3, 3)
    assert after(model, held, ok("acquire", "a", 4)) is IMPOSSIBLE
    assert after(model, held, ok("acquire", "b", 4)) is IMPOSSIBLE
    assert after(model, held, lost("acquire", "a"), ok("release", "a")) == FencedNested("a", 1, 3, 3)
    assert after(model, held, ok("release", "a"), ok("acquire", "a", 3)) is IMPOSSIBLE
    assert after(model, held, ok("release", "a"), ok("acquire", "a", 4)) == FencedNested("a", 1, 4, 4)


def test_an_acquire_within_a_hold_reveals_its_unknown_token() -> None:
    unseen = lost("acquire", "a")

    assert after(ReentrantFencedMutex(), unseen, ok("acquire", "a", 5)) == FencedNested("a", 2, 5, 5)
    assert after(ReentrantFencedMutex(), unseen, ok("acquire", "a", 0)) is IMPOSSIBLE
    assert after(ReentrantFencedMutex(), unseen, ok("acquire", "a", 1)) == FencedNested("a", 2, 1, 1)


def test_a_set_has_what_was_added_and_not_removed() -> None:
    added = ok("add", 1, True), ok("add", 2), ok("remove", 1, True)

    assert after(Set(), *added, ok("read", None, frozenset({2}))) == frozenset({2})
    assert after(Set(), *added, ok("contains", 1, True)) is IMPOSSIBLE
    assert after(Set(), *added, ok("contains", 2, True)) == frozenset({2})
    assert after(Set(), *added, ok("add", 2, True)) is IMPOSSIBLE
    assert after(Set(), ok("remove", 1, False)) == frozenset()


def test_a_counter_adds_up() -> None:
    assert after(Counter(), ok("add", 2), ok("add", -1, 1), ok("read", None, 1)) == 1
    assert after(Counter(), ok("add", 2), ok("add", 1, 2)) is IMPOSSIBLE
    assert after(Counter(5), ok("read", None, 5)) == 5


def test_a_store_of_texts_puts_and_appends() -> None:
    written = ok("put", "x"), ok("append", "y")

    assert after(KeyValue(), *written, ok("get", None, "xy")) == "xy"
    assert after(KeyValue(), *written, ok("get", None, "yx")) is IMPOSSIBLE
    assert after(KeyValue(), ok("get", None, "")) == ""


def test_models_are_listed_by_name() -> None:
    assert list(MODELS) == sorted(MODELS)
    assert set(re.findall(r"^\| `([a-z-]+)` \|", DOCUMENTATION.read_text(), re.MULTILINE)) == set(MODELS)


def test_writes_of_one_value_are_of_one_kind_whatever_their_answer() -> None:
    one, other = ok("write", 1, "done"), ok("write", 1, "stored")

    assert Register().kind(one) == Register().kind(other)
    assert Register().kind(one) != Register().kind(ok("write", 2, "done"))


def test_failed_writes_are_of_another_kind_than_those_that_took_effect() -> None:
    for model in (Register(), KeyValue(), Set(), Counter(), Mutex()):
        assert model.kind(ok("write", 1)) != model.kind(failed("write", 1))


@pytest.mark.parametrize(
    ("model", "reads", "changes"),
    [
        (Set(), [ok("read"), ok("contains", 1)], [ok("add", 1)]),
        (KeyValue(), [ok("get")], [ok("put", "a")]),
        (CasRegister(), [ok("read"), failed("cas", (1, 2))], [ok("cas", (1, 2)), ok("write", 1)]),
        (Counter(), [ok("read")], [ok("add", 1)]),
    ],
    ids=["set", "kv", "cas-register", "counter"],
)
def test_what_can_change_nothing_is_a_read(
    model: Any, reads: list[Operation], changes: list[Operation]
) -> None:
    assert all(map(model.is_read, reads))
    assert not any(map(model.is_read, changes))
