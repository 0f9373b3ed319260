"""Algorithms R and C against every order, on random and exhaustive small histories, and on literal ones."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.operation import NO_VALUE, Operation
from checkers.history.records import Outcome
from checkers.models.blocks import both_first
from checkers.models.model_verdict import Clash, Contradiction, DeadEnd, OutOfScopeError
from checkers.models.register import judge_register, register_clash
from checkers.models.register_columns import register_columns
from checkers.vocabulary.verdict import Validity
from tests.support.linearizations import every_history, explained, mismatches, register_step
from tests.support.model_histories import KINDS, random_history
from tests.support.selection import examples


def read(answer: Any, called: int, returned: int | None, **others: Any) -> Operation:
    return Operation(f="read", output=answer, called=called, returned=returned, **others)


def write(
    value: int | str | tuple[int | str | None, int | str] | None,
    called: int,
    returned: int | None = None,
    **others: Any,
) -> Operation:
    outcome = Outcome.INFO if returned is None else Outcome.OK
    return Operation(
        **{"f": "write", "input": value, "called": called, "returned": returned, "outcome": outcome} | others
    )


def cas(
    expected: int | str | None, new: int | str, called: int, returned: int | None = None, **others: Any
) -> Operation:
    return write((expected, new), called, returned, **({"f": "cas"} | others))


def refused(
    expected: int | str, new: int | str, found: int | str | None, called: int, returned: int
) -> Operation:
    return cas(expected, new, called, returned, outcome=Outcome.FAIL, output=found)


def clash_of(*operations: Any) -> Clash | DeadEnd | None:
    """What R or C find; they must not have handed the history on."""
    verdict = judge_register(operations)
    assert verdict.method == "pairs"
    assert (verdict.validity is Validity.INVALID) == bool(verdict.conflicts)
    return verdict.conflicts[0] if verdict.conflicts else None


def is_right(operations: tuple[Operation, ...]) -> bool:
    verdict = judge_register(operations, 0)
    assert verdict.method == "pairs"
    return verdict.validity is Validity.VALID


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unique-writes", "unique-cas"])
@pytest.mark.parametrize("size", [6, 8])
def test_pairs_agree_with_trying_every_order(name: str, size: int) -> None:
    assert not mismatches(is_right, name, register_step, 0, seed=4, size=size)


def test_any_values_agree_with_trying_every_order() -> None:
    def judge(history: Any) -> bool:
        return judge_register(history, 0).validity is Validity.VALID

    assert not mismatches(judge, "cas-register", register_step, 0, seed=5)


@settings(max_examples=examples(150), deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_small_history_of_unique_values_is_misjudged(rng: random.Random) -> None:
    history = random_history(rng, KINDS["unique-cas"], 8)

    assert is_right(history) == explained(history, register_step, 0)


@pytest.mark.slow
def test_every_history_of_three_operations_is_judged_right() -> None:
    asked = [
        read(0, 0, 1),
        read(1, 0, 1),
        read(2, 0, 1),
        write(1, 0, 1),
        write(1, 0),
        cas(0, 2, 0, 1),
        cas(1, 2, 0, 1),
        cas(1, 2, 0),
        refused(1, 2, 0, 0, 1),
        refused(1, 2, 1, 0, 1),
    ]
    wrong = [
        history
        for history in every_history(3, asked)
        if (judge_register(history, 0).validity is Validity.VALID) != explained(history, register_step, 0)
    ]

    assert not wrong


A, B = write("a", 0, 1), write("b", 2, 3)
CHAIN = (cas(None, "a", 0, 1), cas("a", "b", 2, 3), read("b", 4, 5))
SEEN = (write("a", 0), write("b", 1, 2), read("b", 3, 4), read("a", 5, 6))
UNANSWERED = (A, cas("a", "b", 2), cas("b", "c", 2), read("c", 5, 6))
SLOW_CHAIN = (cas(None, "a", 0, 1), cas("a", "b", 6, 7))


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param((), id="an empty history"),
        pytest.param((read(None, 0, 1), write("a", 2, 3), read("a", 4, 5)), id="a read of the last write"),
        pytest.param((write("a", 0, 5), read(None, 5, 6)), id="a return and a call at one moment"),
        pytest.param((write("a", 0), write("b", 1, 2), read("b", 3, 4)), id="an unseen unanswered write"),
        pytest.param(SEEN, id="an unanswered write that was seen later"),
        pytest.param(CHAIN, id="each cas replaces what it expects"),
        pytest.param((A, cas("a", "b", 2), cas("a", "c", 2, 9)), id="an unseen unanswered cas"),
        pytest.param(UNANSWERED, id="an unanswered cas that a later one expects"),
        pytest.param((*SLOW_CHAIN, write("x", 2, 9)), id="a write that may come after a chain"),
        pytest.param((A, refused("z", "b", "a", 2, 3)), id="a failed cas that found another value"),
        pytest.param((read(NO_VALUE, 0, 1), read("a", 2, None, outcome=Outcome.INFO)), id="reads of nothing"),
    ],
)
def test_a_history_is_right_if_some_order_explains_it(operations: tuple[Operation, ...]) -> None:
    assert clash_of(*operations) is None


@pytest.mark.parametrize(
    ("operations", "contradiction", "named"),
    [
        pytest.param((A, read("b", 2, 3)), "NEVER_WRITTEN", (1,), id="an unwritten value"),
        pytest.param(
            (write("a", 0, 1, outcome=Outcome.FAIL), read("a", 2, 3)),
            "NEVER_WRITTEN",
            (1,),
            id="the value of a failed write",
        ),
        pytest.param((A, cas("b", "c", 2, 3)), "NEVER_WRITTEN", (1,), id="a cas of what was never there"),
        pytest.param(
            (cas("b", "c", 0), read("b", 1, 2)), "NEVER_WRITTEN", (1,), id="an unanswered cas saw nothing"
        ),
        pytest.param(
            (read("a", 0, 1), read("a", 9, 10), write("a", 2, 3)),
            "SEEN_BEFORE_WRITTEN",
            (0, 2),
            id="too early",
        ),
        pytest.param(
            (A, B, read("b", 4, 5), read("a", 6, 7)), "BOTH_FIRST", (0, 2, 1, 3), id="a value comes back"
        ),
        pytest.param((A, read(None, 2, 3)), "BOTH_FIRST", (0, 0, 1), id="the initial value comes back"),
        pytest.param((*SEEN, read("b", 7, 8)), "BOTH_FIRST", (1, 3, 3, 4), id="an unanswered write between"),
        pytest.param((*SLOW_CHAIN, write("x", 2, 3)), "BOTH_FIRST", (2, 2, 1), id="a write within a chain"),
        pytest.param(
            (A, refused("z", "b", None, 2, 3)), "BOTH_FIRST", (0, 0, 1), id="a failed cas is a read"
        ),
        pytest.param((A, refused("a", "b", "a", 2, 3)), "MATCHED_BUT_FAILED", (1,), id="a cas that matched"),
        pytest.param((*CHAIN, read("a", 6, 7)), "CHAIN_AGAINST_TIME", (1, 3), id="a replaced value"),
        pytest.param(
            (*UNANSWERED, read("a", 7, 8)), "CHAIN_AGAINST_TIME", (3, 4), id="replaced by an unanswered cas"
        ),
        pytest.param(
            (cas(None, 1, 0, 1), cas(10, 11, 50, 51), write(10, 100, 101)),
            "CHAIN_AGAINST_TIME",
            (1, 2),
            id="a chain after another chain",
        ),
        pytest.param(
            (A, cas("a", "b", 2, 9), cas("a", "c", 2, 9)),
            "TWO_SUCCESSORS",
            (1, 2),
            id="two replace one value",
        ),
        pytest.param(
            (*UNANSWERED, cas("a", "d", 5, 9)), "TWO_SUCCESSORS", (1, 4), id="one of them was unanswered"
        ),
        pytest.param(
            (cas("c", "a", 0, 9), cas("a", "b", 0, 9), cas("b", "c", 0, 9), write("x", 0, 1)),
            "CIRCLE",
            (0, 1, 2),
            id="a circle",
        ),
    ],
)
def test_what_no_order_explains_is_named(
    operations: tuple[Operation, ...], contradiction: str, named: tuple[int, ...]
) -> None:
    assert clash_of(*operations) == Clash(contradiction=Contradiction[contradiction], operations=named)


@pytest.mark.parametrize(
    "operations",
    [
        (write("a", 0, 1), write("a", 2, 3)),
        (write("a", 0, 1), cas("b", "a", 2, 3)),
        (write(None, 0, 1),),
        (cas("a", "b", 0, 1, outcome=Outcome.FAIL),),
        (Operation(f="append", called=0, returned=1),),
    ],
    ids=["a value twice", "a value twice, by cas", "the initial value", "nothing found", "another operation"],
)
def test_a_history_that_pairs_do_not_decide_is_refused(operations: tuple[Operation, ...]) -> None:
    with pytest.raises(OutOfScopeError):
        register_clash(register_columns(operations, range(len(operations))))


def test_values_that_repeat_are_searched() -> None:
    verdict = judge_register((write("a", 0, 1), write("a", 2, 3), read(None, 4, 5)))

    assert verdict.method == "search"
    assert verdict.validity is Validity.INVALID
    assert isinstance(verdict.conflicts[0], DeadEnd)
    assert verdict.conflicts[0].operation == 2


def test_each_register_is_judged_in_its_own_way() -> None:
    verdict = judge_register(
        (
            write("a", 0, 1, key="x"),
            write("a", 2, 3, key="x"),
            write("a", 2, 3, key="y"),
            read(None, 4, 5, key="y"),
            read("a", 4, 5, key="x"),
        )
    )

    assert verdict.method == "search"
    assert verdict.conflicts == (Clash(contradiction=Contradiction.BOTH_FIRST, operations=(2, 2, 3)),)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_the_pair_that_is_found_is_one_by_definition(moments: list[tuple[int, int]]) -> None:
    settled, claimed = np.array(moments, dtype=np.int64).reshape(-1, 2).T
    pairs = {
        frozenset((u, v))
        for u in range(len(moments))
        for v in range(u)
        if settled[u] < claimed[v] and settled[v] < claimed[u]
    }

    found = both_first(settled, claimed)

    assert (found is not None) == bool(pairs)
    assert found is None or frozenset(found) in pairs


def test_a_long_history_with_one_value_out_of_place_is_wrong() -> None:
    operations = [write(i, 4 * i, 4 * i + 1) for i in range(1, 20_000)]
    reads = [read(i, 4 * i + 2, 4 * i + 3) for i in range(1, 20_000)]

    assert clash_of(*operations, *reads) is None
    assert clash_of(*operations, *reads, read(17, 90_000, 90_001)) is not None


def test_only_a_cas_expects_something() -> None:
    operations = [
        Operation(f="write", input=1, called=0, returned=1),
        Operation(f="cas", input=(1, 2), called=2, returned=3),
        Operation(f="read", output=2, called=4, returned=5),
    ]

    columns = register_columns(operations, range(3))

    assert columns.kind.dtype == np.int8
    assert columns.value.tolist() == [1, 2, 2]
    assert columns.expected.tolist() == [-1, 1, -1]
    assert columns.values == 3


def test_a_register_begins_with_its_initial_value() -> None:
    seen = [Operation(f="read", output=5, called=0, returned=1)]

    assert judge_register(seen, initial=5).validity is Validity.VALID
    assert judge_register(seen).validity is Validity.INVALID
