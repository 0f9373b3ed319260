"""Literal grants of one lock."""

from __future__ import annotations

from checkers.facts.evidence import Evidence
from checkers.history.records import Header, History, Op, Outcome


def acquire(index: int, owner: str, token: int, called: int, returned: int, ttl: int | None = None) -> Op:
    return Op(
        index=index,
        process=index,
        f="acquire",
        resource="r0",
        called=called,
        returned=returned,
        outcome=Outcome.OK,
        owner=owner,
        token=token,
        ttl=ttl,
    )


def locks(*operations: Op) -> Evidence:
    return Evidence(history=History(header=Header(target="test"), operations=operations))
