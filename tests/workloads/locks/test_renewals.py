"""The thread that renews leases: one for all holds of a client, one hold at a time."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from checkers.history.records import Outcome
from tests.support.waiting import wait_for
from workloads.client import Answer, NotApplied
from workloads.locks.renewals import Renewals

TTL = 30_000_000  # ns


class Session:
    """Remembers which holds were renewed, and in which thread."""

    def __init__(self) -> None:
        self.renewed: list[str] = []
        self.threads: set[int] = set()

    def call(self, _f: str, _resource: str, action: Callable[[], Any], owner: str, **_fields: Any) -> Answer:
        self.renewed.append(owner)
        self.threads.add(threading.get_ident())
        try:
            return Answer(Outcome.OK, action())
        except NotApplied:
            return Answer(Outcome.FAIL, {})


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def renewals(session: Session) -> Any:
    made = Renewals(session, TTL, lambda: None, None)
    yield made
    made.close(lambda: None)


def hold(renewals: Renewals, owner: str, action: Callable[[], Any] = dict) -> None:
    renewals.begin("r0", owner)
    renewals.keep(action)


def test_a_second_hold_is_renewed_in_place_of_the_first(renewals: Renewals, session: Session) -> None:
    hold(renewals, "0-1")
    assert wait_for(lambda: session.renewed.count("0-1") > 1)

    hold(renewals, "0-2")

    seen = len(session.renewed)
    assert wait_for(lambda: session.renewed.count("0-2") > 2)
    assert set(session.renewed[seen + 1 :]) == {"0-2"}  # one of the first may have been in flight


def test_one_thread_renews_all_holds(renewals: Renewals, session: Session) -> None:
    for owner in ("0-1", "0-2", "0-3"):
        hold(renewals, owner)
        assert wait_for(partial(session.renewed.count, owner))
        renewals.stop()

    assert len(session.threads) == 1


def test_a_lost_lease_is_not_renewed_again(renewals: Renewals, session: Session) -> None:
    def lost() -> Any:
        raise NotApplied("lease lost")

    hold(renewals, "0-1", lost)
    assert wait_for(lambda: session.renewed)

    hold(renewals, "0-2")
    assert wait_for(lambda: session.renewed.count("0-2") > 2)
    assert session.renewed.count("0-1") == 1


def test_nothing_is_renewed_after_the_end(renewals: Renewals, session: Session) -> None:
    hold(renewals, "0-1")
    assert wait_for(lambda: session.renewed)
    [renewing] = [thread for thread in threading.enumerate() if thread.ident in session.threads]

    renewals.close(lambda: None)

    renewing.join(timeout=20)
    assert not renewing.is_alive()
