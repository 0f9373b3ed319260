"""What the commit log and the clients say of each other, conflict by conflict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.evidence import Evidence, gather
from checkers.history.records import Commit, Op
from checkers.rules.ghost_writes import FENCE_FAILED_BUT_LOGGED, ghost_writes
from checkers.rules.late_writes import late_writes
from checkers.rules.lost_writes import GONE_FROM_LOG, lost_in_log
from checkers.rules.non_linearizable.mismatched_commits import (
    LOGGED_OTHERWISE,
    NEVER_SENT,
    mismatched_commits,
)
from checkers.rules.non_linearizable.misreads import READ_BUT_NOT_LOGGED, reads_not_logged
from checkers.rules.phantom_accepts import NEVER_LOGGED, phantom_accepts
from checkers.rules.registers import stale_writes_of
from checkers.rules.unfenced_writes import LOST_ITS_TOKEN, unfenced_writes
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.appends import append, history
from tests.support.brute_force import fenced as fence_of
from tests.support.brute_force import history_of, read, renumbered, write
from tests.support.commit_logs import log
from tests.support.lock_requests import acquire


def evidence(operations: list[Op], *commits: tuple[str, int | None], fenced: bool = True) -> Evidence:
    stored = log(*((token, value) for value, token in commits))
    return gather(history_of(renumbered(operations), fenced=fenced), stored)


def test_the_first_read_proves_that_a_write_not_in_the_log_was_lost() -> None:
    known = [write(0, 1, 0, 1), write(1, 2, 2, 3), read(2, ("v1", 2), 4, 5), read(3, ("v1", 2), 6, 7)]

    (lost,) = lost_in_log(evidence(known, ("v0", 1)))

    assert (lost.breach, lost.accused.index) == (GONE_FROM_LOG, 1)
    assert [op.index for op in lost.because] == [2]


def test_an_unread_write_that_is_not_in_the_log_was_never_stored() -> None:
    known = [write(0, 1, 0, 1), write(1, 2, 2, 3)]

    (phantom,) = phantom_accepts(evidence(known, ("v0", 1)))

    assert (phantom.breach, phantom.accused.index, phantom.because) == (NEVER_LOGGED, 1, ())


def test_a_read_of_an_unanswered_write_not_in_the_log_is_wrong() -> None:
    known = [write(0, 1, 0, 1), write(1, 2, 2, 3, "info"), read(2, ("v1", 2), 4, 5), read(3, ("v1", 2), 6, 7)]

    (wrong,) = reads_not_logged(evidence(known, ("v0", 1)))

    assert (wrong.breach, wrong.accused.index) == (READ_BUT_NOT_LOGGED, 2)
    assert [op.index for op in wrong.because] == [1]


def test_a_commit_with_another_token_than_was_sent_accuses_the_write() -> None:
    known = [write(0, 1, 0, 1), write(1, 2, 2, 3)]

    (entry,) = mismatched_commits(evidence(known, ("v0", 1), ("v1", 9)))

    assert (entry.breach, entry.accused.index) == (LOGGED_OTHERWISE, 1)
    assert [op.index for op in entry.because] == [0]


def test_a_commit_without_the_token_that_was_sent_passed_the_fence_by() -> None:
    known = evidence([write(0, 1, 0, 1), write(1, 2, 2, 3)], ("v0", 1), ("v1", None))

    (bare,) = unfenced_writes(known)

    assert (bare.breach, bare.accused.index) == (LOST_ITS_TOKEN, 1)
    assert list(mismatched_commits(known)) == []


def test_without_a_promised_fence_a_tokenless_commit_contradicts() -> None:
    known = evidence([write(0, 1, 0, 1), write(1, 2, 2, 3)], ("v0", 1), ("v1", None), fenced=False)

    (entry,) = mismatched_commits(known)

    assert (entry.breach, entry.accused.index) == (LOGGED_OTHERWISE, 1)
    assert list(unfenced_writes(known)) == []


def test_an_unsent_commit_without_a_token_is_an_unfenced_write() -> None:
    known = evidence([write(0, 1, 0, 1)], ("v0", 1), ("unheard-of", None))

    (unfenced,) = unfenced_writes(known)

    assert unfenced.breach is LOST_ITS_TOKEN
    assert list(mismatched_commits(known)) == []


def test_a_commit_without_a_token_on_another_resource_is_reported_as_that() -> None:
    known = history_of(renumbered([write(0, 1, 0, 1), write(1, 2, 2, 3)]))
    stored = [*log((1, "v0")), Commit(seq=2, resource="r1", token=None, value="v1")]

    (entry,) = mismatched_commits(gather(known, stored))

    assert entry.breach is LOGGED_OTHERWISE
    assert list(unfenced_writes(gather(known, stored))) == []


def test_an_unsent_commit_is_shown_next_to_a_sent_one() -> None:
    (entry,) = mismatched_commits(evidence([write(0, 1, 0, 1)], ("v0", 1), ("unheard-of", 9)))

    assert (entry.breach, entry.accused.value, entry.accused.token) == (NEVER_SENT, "unheard-of", 9)
    assert [op.index for op in entry.because] == [0]


def test_a_truncated_history_accuses_no_one_of_what_it_lacks() -> None:
    whole = history_of(renumbered([write(0, 1, 0, 1)]))
    stored = log((1, "v0"), (2, "v1"), (3, "v2"))

    verdict = judge(replace(whole, notices=("history:5: the last line is only half written",)), stored)

    assert judge(whole, stored).validity is Validity.INVALID
    assert verdict.validity is Validity.UNKNOWN
    lacks = "the storage's own order has 2 writes of which it knows nothing"
    assert verdict.reasons[0].startswith(f"the history ends in the middle of a line, and {lacks}")


def test_a_stale_write_hides_no_late_one_that_follows() -> None:
    stale = write(4, 1, 4, 5)
    late = replace(write(6, 2, 8, 9), value="late")
    first, second = acquire(0, "c0", 1, 0, 1), acquire(1, "c1", 2, 0, 1)
    third = acquire(5, "c5", 3, 6, 7)
    operations = [first, second, write(3, 2, 2, 3), stale, third, late]

    (found,) = late_writes(gather(history_of(renumbered(operations), strict=False)))

    assert (found.accused.value, [op.token for op in found.because]) == ("late", [3])


def test_a_log_of_another_run_is_reported_by_the_line_that_sent_the_write() -> None:
    history = history_of(renumbered([write(0, 1, 0, 1)]))

    says = (
        r"value 'v0' was committed to r0 with token 9, but line 2 of the history wrote it to r0 with token 1"
    )
    with pytest.raises(HistoryError, match=says):
        gather(history, log((9, "v0")))


def test_a_fence_of_another_run_is_reported_by_its_token() -> None:
    history = history_of(renumbered([write(0, 1, 0, 1)]))

    with pytest.raises(
        HistoryError, match="a fence with token 9 was committed, but the history has none of it"
    ):
        gather(history, log((9, None)))


def test_a_fence_that_failed_and_was_logged_has_words_of_its_own() -> None:
    failed = replace(fence_of(write(0, 2, 0, 1, "stale")), error="timeout")
    known = gather(history_of(renumbered([failed, write(1, 3, 2, 3)])), log((2, None), (3, "v1")))

    (found,) = ghost_writes(known)

    assert (found.breach, found.accused.index) == (FENCE_FAILED_BUT_LOGGED, 0)


def test_stale_writes_are_those_of_the_log_and_of_fences_that_it_lacks() -> None:
    in_flight = [write(0, 2, 0, 5), write(1, 1, 1, 6)]
    after_fence = [fence_of(write(0, 3, 0, 1)), write(1, 1, 2, 3)]

    def stale(operations: list[Op], *commits: tuple[str, int | None]) -> list[int]:
        return [each.accused.index for each in stale_writes_of(evidence(operations, *commits))]

    assert stale(in_flight, ("v0", 2), ("v1", 1)) == [1]
    assert stale(in_flight, ("v1", 1), ("v0", 2)) == []
    assert stale(after_fence, ("v1", 1)) == [1]


def test_without_a_log_stale_writes_are_those_that_the_clients_saw() -> None:
    known = renumbered([write(0, 2, 0, 1), write(1, 1, 2, 3)])

    assert [each.accused.index for each in stale_writes_of(gather(history_of(known)))] == [1]


def test_an_unlogged_write_without_a_token_took_effect_if_it_was_read() -> None:
    lost, read_write, logged = (replace(write(n, 0, 2 * n, 2 * n + 1), token=None) for n in range(3))
    its_read = read(3, ("v1", None), 8, 9)

    found = unfenced_writes(evidence([lost, read_write, logged, its_read], ("v2", None)))

    assert [(each.accused.index, [op.index for op in each.because]) for each in found] == [(1, [3]), (2, [])]


def test_a_shown_append_without_a_token_that_the_log_lacks_was_lost() -> None:
    lost, its_reader = append(0, 1, None, "", "a"), append(2, 3, 1, "a", "b")
    written = replace(write(2, 0, 4, 5), token=None, resource="r1")
    stored = [
        Commit(seq=1, resource="r0", token=1, value=its_reader.value),
        Commit(seq=2, resource="r1", token=None, value=written.value),
    ]

    (found,) = unfenced_writes(gather(history(lost, its_reader, written), stored))

    assert found.accused.index == written.index
