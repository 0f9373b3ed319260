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
from tests.support.examples import examples
from tests.support.linearizations import every_history, explained, mismatches, register_step
from tests.support.model_histories import KINDS, random_history


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


def test_an_empty_history_is_right() -> None:
    assert clash_of() is None


def test_a_read_of_the_last_write_is_correct() -> None:
    assert clash_of(read(None, 0, 1), write("a", 2, 3), read("a", 4, 5), write("b", 6, 7)) is None


def test_an_unwritten_value_cannot_be_read() -> None:
    assert clash_of(write("a", 0, 1), read("b", 2, 3)) == Clash(
        contradiction=Contradiction.NEVER_WRITTEN, operations=(1,)
    )


def test_the_value_of_a_failed_write_cannot_be_read() -> None:
    clash = clash_of(write("a", 0, 1, outcome=Outcome.FAIL), read("a", 2, 3))

    assert clash == Clash(contradiction=Contradiction.NEVER_WRITTEN, operations=(1,))


def test_a_value_cannot_be_read_before_its_write_was_called() -> None:
    assert clash_of(read("a", 0, 1), read("a", 9, 10), write("a", 2, 3)) == Clash(
        contradiction=Contradiction.SEEN_BEFORE_WRITTEN, operations=(0, 2)
    )


def test_a_value_does_not_come_back() -> None:
    clash = clash_of(write("a", 0, 1), write("b", 2, 3), read("b", 4, 5), read("a", 6, 7))

    assert clash == Clash(contradiction=Contradiction.BOTH_FIRST, operations=(0, 2, 1, 3))


def test_the_initial_value_does_not_come_back() -> None:
    clash = clash_of(write("a", 0, 1), read(None, 2, 3))

    assert clash == Clash(contradiction=Contradiction.BOTH_FIRST, operations=(0, 0, 1))


def test_a_return_and_a_call_at_one_moment_are_concurrent() -> None:
    assert clash_of(write("a", 0, 5), read(None, 5, 6)) is None


def test_an_unseen_unanswered_write_is_left_out() -> None:
    assert clash_of(write("a", 0), write("b", 1, 2), read("b", 3, 4), read("b", 5, 6)) is None


def test_an_unanswered_write_that_was_seen_must_fit() -> None:
    seen = (write("a", 0), write("b", 1, 2), read("b", 3, 4), read("a", 5, 6))

    assert clash_of(*seen) is None
    assert clash_of(*seen, read("b", 7, 8)).contradiction is Contradiction.BOTH_FIRST


def test_a_cas_replaces_what_it_expects() -> None:
    chain = (cas(None, "a", 0, 1), cas("a", "b", 2, 3), read("b", 4, 5))

    assert clash_of(*chain) is None
    assert clash_of(*chain, read("a", 6, 7)) == Clash(
        contradiction=Contradiction.CHAIN_AGAINST_TIME, operations=(1, 3)
    )


def test_a_cas_cannot_replace_what_was_never_there() -> None:
    assert clash_of(write("a", 0, 1), cas("b", "c", 2, 3)) == Clash(
        contradiction=Contradiction.NEVER_WRITTEN, operations=(1,)
    )


def test_two_cannot_replace_one_value() -> None:
    clash = clash_of(write("a", 0, 1), cas("a", "b", 2, 9), cas("a", "c", 2, 9))

    assert clash == Clash(contradiction=Contradiction.TWO_SUCCESSORS, operations=(1, 2))


def test_an_unseen_unanswered_cas_replaced_nothing() -> None:
    assert clash_of(write("a", 0, 1), cas("a", "b", 2), cas("a", "c", 2, 9)) is None


def test_an_unanswered_cas_counts_if_a_later_one_in_its_chain_was_seen() -> None:
    chain = (write("a", 0, 1), cas("a", "b", 2), cas("b", "c", 2), read("c", 5, 6))

    assert clash_of(*chain) is None
    assert clash_of(*chain, read("a", 7, 8)) == Clash(
        contradiction=Contradiction.CHAIN_AGAINST_TIME, operations=(3, 4)
    )
    assert clash_of(*chain, cas("a", "d", 5, 9)).contradiction is Contradiction.TWO_SUCCESSORS


def test_compare_and_sets_cannot_begin_in_a_circle() -> None:
    clash = clash_of(cas("c", "a", 0, 9), cas("a", "b", 0, 9), cas("b", "c", 0, 9), write("x", 0, 1))

    assert clash.contradiction is Contradiction.CIRCLE
    assert sorted(clash.operations) == [0, 1, 2]


def test_nothing_comes_between_the_values_of_a_chain() -> None:
    chain = (cas(None, "a", 0, 1), cas("a", "b", 6, 7))

    assert clash_of(*chain, write("x", 2, 9)) is None
    assert clash_of(*chain, write("x", 2, 3)) == Clash(
        contradiction=Contradiction.BOTH_FIRST, operations=(2, 2, 1)
    )


def test_a_failed_cas_is_a_read_of_what_it_found() -> None:
    write_ = write("a", 0, 1)

    assert clash_of(write_, refused("z", "b", "a", 2, 3)) is None
    assert clash_of(write_, refused("z", "b", None, 2, 3)).contradiction is Contradiction.BOTH_FIRST
    assert clash_of(write_, refused("a", "b", "a", 2, 3)) == Clash(
        contradiction=Contradiction.MATCHED_BUT_FAILED, operations=(1,)
    )


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


def test_a_read_without_an_answer_is_ignored() -> None:
    assert clash_of(read(NO_VALUE, 0, 1), read("a", 2, None, outcome=Outcome.INFO)) is None


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


def test_an_unanswered_cas_is_not_accused_of_seeing_what_it_expects() -> None:
    assert clash_of(cas("b", "c", 0), read("b", 1, 2)) == Clash(
        contradiction=Contradiction.NEVER_WRITTEN, operations=(1,)
    )


def test_a_chain_is_held_against_time_though_another_chain_went_before_it() -> None:
    operations = [
        Operation(f="cas", input=(None, 1), called=0, returned=1),
        Operation(f="cas", input=(10, 11), called=50, returned=51),
        Operation(f="write", input=10, called=100, returned=101),
    ]

    verdict = judge_register(operations)

    assert verdict.conflicts == (Clash(contradiction=Contradiction.CHAIN_AGAINST_TIME, operations=(1, 2)),)


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
