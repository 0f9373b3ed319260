"""Stale writes by the storage's own order: what the initial token and fences allow, and which commit is newer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.facts.evidence import gather
from checkers.history.records import Commit, Header
from checkers.rules.stale_writes.by_log import LOGGED_AFTER_NEWER, in_log
from checkers.rules.stale_writes.story import BELOW_THE_START
from tests.support.brute_force import history_of, renumbered, write
from tests.support.conflicts import Summary, summary_of


def commits(*tokens: int, fences: Sequence[int] = ()) -> list[Commit]:
    return [
        Commit(
            seq=seq,
            resource="r0",
            token=token,
            fence=seq in fences,
            value=None if seq in fences else f"v{seq}",
        )
        for seq, token in enumerate(tokens)
    ]


def stale(log: Sequence[Commit], **header: object) -> list[Summary]:
    sent = [write(each.seq, each.token or 0, 2 * each.seq, 2 * each.seq + 1) for each in log]
    sent = [
        replace(op, f="fence", value=None) if each.fence else op for op, each in zip(sent, log, strict=True)
    ]
    history = replace(history_of(renumbered(sent)), header=Header(target="t", **header))
    return [summary_of(each) for each in in_log(gather(history, list(log)))]


@pytest.mark.parametrize(
    ("policy", "token", "is_stale"),
    [
        ("strict", 4, True),
        ("strict", 5, True),
        ("strict", 6, False),
        ("inclusive", 4, True),
        ("inclusive", 5, False),
    ],
)
def test_the_initial_token_is_the_first_mark(policy: str, token: int, *, is_stale: bool) -> None:
    found = stale(commits(token), policy=policy, initial_token=5)

    assert found == ([("stale-write", BELOW_THE_START, 0, [])] if is_stale else [])


def test_the_newer_write_is_the_one_that_raised_the_mark() -> None:
    assert stale(commits(5, 3, 2)) == [
        ("stale-write", LOGGED_AFTER_NEWER, 1, [0]),
        ("stale-write", LOGGED_AFTER_NEWER, 2, [0]),
    ]


@pytest.mark.parametrize(("policy", "is_stale"), [("strict", True), ("inclusive", False)])
def test_an_equal_token_is_stale_only_to_a_strict_fence(policy: str, *, is_stale: bool) -> None:
    found = stale(commits(5, 5), policy=policy)

    assert found == ([("stale-write", LOGGED_AFTER_NEWER, 1, [0])] if is_stale else [])
