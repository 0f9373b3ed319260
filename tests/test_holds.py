"""What clients record of their storage, whatever it is."""

from __future__ import annotations

import random

import pytest
from systems import Memory

from harness.recorder import RecordedSession
from workloads.client import Unknown
from workloads.holds import Client


class Register:
    """A storage that answers a read with this."""

    def __init__(self, value, token):
        self._answer = (value, token)

    def read(self, _resource):
        return self._answer


@pytest.mark.parametrize(
    ("answer", "recorded"),
    [((None, 0), (None, -1)), ((None, -1), (None, -1)), (("v", 0), ("v", 0)), (("", 5), ("", 5))],
)
def test_a_read_of_what_was_never_written_has_a_token_below_every_other(answer, recorded):
    memory = Memory()
    client = Client(
        number=0,
        resources=["r0"],
        think=(0, 0),
        rng=random.Random(0),
        session=RecordedSession(memory, process=0, stride=1),
        lock=None,
        storage=Register(*answer),
        fence_on_acquire=False,
        progress=None,
    )

    client.read("r0")

    (read,) = memory.of("ok")
    assert (read["value"], read["token"]) == recorded


class GrantedThenLost:
    """A lock that is granted, and whose answer never completes."""

    def __init__(self, session):
        self._session = session

    def acquire(self, resource, owner):
        self._session.granted(resource, owner)
        raise Unknown("its key is gone")

    def reconnect(self):
        pass

    def revoke(self, resource, owner):
        pass


class Steps:
    def __init__(self):
        self.seen = []

    def granted(self, _resource, _owner):
        self.seen.append("granted")

    def reached(self, point, _resource, _owner, _token):
        self.seen.append(point)

    def left(self):
        self.seen.append("left")


def test_a_client_that_got_no_further_than_granted_is_in_no_critical_section():
    steps = Steps()
    session = RecordedSession(Memory(), process=0, stride=1, granted=steps.granted)
    client = Client(
        number=0,
        resources=["r0"],
        think=(0, 0),
        rng=random.Random(0),
        session=session,
        lock=GrantedThenLost(session),
        storage=None,
        fence_on_acquire=False,
        progress=steps,
    )

    client.run(lambda *_: None, lambda: bool(steps.seen))

    assert steps.seen == ["granted", "left"]
