"""The client loop: what it records, the steps that it reports, what a class may grant, lists held as text."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest

from checkers.history.records import Commit
from harness.clients.recorder import RecordedSession
from tests.support.systems import Memory
from workloads.append import with_parsed_list
from workloads.client import Grant, NoTokenError, Unknown
from workloads.client_loop import Client, HeldLock, Holder, RecordedLock


class Register:
    """A storage that answers every read with this value and token."""

    def __init__(self, value: Any, token: Any) -> None:
        self._answer = (value, token)

    def read(self, _resource: Any) -> Any:
        return self._answer


@pytest.mark.parametrize(
    ("answer", "recorded"),
    [((None, 0), (None, -1)), ((None, -1), (None, -1)), (("v", 0), ("v", 0)), (("", 5), ("", 5))],
)
def test_a_read_before_the_first_write_has_a_token_below_all_others(
    answer: Any, recorded: tuple[Any, ...]
) -> None:
    memory = Memory()
    client = Client(
        number=0,
        think_time=(0, 0),
        rng=random.Random(0),
        session=RecordedSession(memory, process=0, stride=1),
        storage=Register(*answer),
        fenced=False,
        progress=None,
    )

    client.read("r0")

    (read,) = memory.of("ok")
    assert (read["value"], read["token"]) == recorded


class GrantedThenLost:
    """A lock that is granted, but whose acquire never completes."""

    def __init__(self, session: RecordedSession) -> None:
        self._session = session

    def acquire(self, resource: Any, owner: Any) -> None:
        self._session.granted(resource, owner)
        raise Unknown("its key is gone")

    def reconnect(self) -> None:
        pass

    def revoke(self, resource: Any, owner: Any) -> None:
        pass


class Steps:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def waiting(self, _resource: Any) -> None:
        pass

    def granted(self, _resource: Any, _owner: Any) -> None:
        self.seen.append("granted")

    def reached(self, point: Any, _resource: Any, _owner: Any, _token: Any) -> None:
        self.seen.append(point)

    def exited(self) -> None:
        self.seen.append("left")


def test_a_client_that_only_reached_granted_is_not_in_a_critical_section() -> None:
    steps = Steps()
    session = RecordedSession(Memory(), process=0, stride=1, granted=steps.granted)
    client = Client(
        number=0,
        think_time=(0, 0),
        rng=random.Random(0),
        session=session,
        storage=None,
        fenced=False,
        progress=steps,
    )

    holder(client, GrantedThenLost(session)).run(lambda *_: None, lambda: bool(steps.seen))

    assert steps.seen == ["granted", "left"]


class Tokenless:
    """A lock that gives no token."""

    def acquire(self, _resource: Any, _owner: Any) -> Grant:
        return Grant(token=None, ttl=None, attempt=None)

    def release(self, _resource: Any, _owner: Any) -> None:
        pass


def without_tokens(memory: Memory, *, fenced: bool) -> Client:
    return Client(
        number=0,
        think_time=(0, 0),
        rng=random.Random(0),
        session=RecordedSession(memory, process=0, stride=1),
        storage=None,
        fenced=fenced,
        progress=Progress(),
    )


def holder(client: Client, lock: Any, **options: Any) -> Holder:
    recorded = RecordedLock(lock, client.session)
    return Holder(client=client, lock=recorded, resources=["r0"], fence_on_acquire=False, **options)


class Progress(Steps):
    def accepted(self, _resource: Any, _token: Any) -> None:
        self.seen.append("accepted")


def test_a_write_without_a_token_names_the_owner_of_its_hold() -> None:
    memory, worked = Memory(), []

    def work(client: Client, held: HeldLock) -> None:
        client.write("write", held, dict, value="x")
        worked.append(held)

    holder(without_tokens(memory, fenced=False), Tokenless()).run(work, lambda: bool(worked))

    acquired, written, _released = memory.of("ok")
    assert (acquired["f"], acquired["token"], acquired["owner"]) == ("acquire", None, "0-1")
    assert (written["f"], written["token"], written["owner"]) == ("write", None, "0-1")


@pytest.mark.parametrize(
    ("asked_at", "recorded"),
    [
        ("acquire", ["acquire", "release"]),
        ("write", ["acquire", "write", "release"]),
        ("release", ["acquire", "write", "write", "release"]),
    ],
)
def test_a_client_that_is_to_leave_completes_its_operation_and_releases(
    asked_at: str, recorded: list[str]
) -> None:
    memory = Memory()
    client = replace(
        without_tokens(memory, fenced=False),
        leaving=lambda: asked_at in [event["f"] for event in memory.of("invoke")],
    )

    def work(client: Client, held: HeldLock) -> None:
        for value in ("x", "y"):
            client.think()
            client.write("write", held, dict, value=value)

    holder(client, Tokenless(), sections=6).run(work, lambda: False)

    assert [event["f"] for event in memory.of("ok")] == recorded
    assert {event["owner"] for event in memory.of("ok")} == {"0-7"}


def test_a_client_that_is_to_leave_does_not_think_on() -> None:
    began = time.monotonic()
    client = replace(without_tokens(Memory(), fenced=False), think_time=(600, 600), leaving=lambda: True)

    client.think()

    assert time.monotonic() - began < 300


def test_a_fence_ends_the_client_of_a_lock_without_tokens() -> None:
    with pytest.raises(NoTokenError, match="this lock gives no fencing token"):
        holder(without_tokens(Memory(), fenced=True), Tokenless()).run(lambda *_: None, lambda: False)


def commit(value: str) -> Commit:
    return Commit(seq=1, resource="r0", token=1, value=value)


def test_the_list_of_a_commit_is_parsed() -> None:
    assert with_parsed_list(commit('["0-1.0", "é"]')).value == ("0-1.0", "é")


@pytest.mark.parametrize(
    "said", ["None", "[", "{}", "7", '"ab"', "[7]", "[[]]", "[NaN]", '["\\ud800"]', '["\ud800"]', "[" * 1_000]
)
def test_a_text_that_is_no_list_of_texts_is_refused(said: str) -> None:
    with pytest.raises(Unknown, match="not a list of texts: ") as caught:
        with_parsed_list(commit(said))

    assert len(str(caught.value)) < 500


SECOND = 1_000_000_000  # ns


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("token", "1"),
        ("token", True),
        ("token", -1),
        ("ttl", 1.5),
        ("ttl", -SECOND),
        ("attempt", 0.5),
    ],
)
def test_a_grant_of_a_wrong_type_names_its_field(field: str, value: Any) -> None:
    fields: dict[str, Any] = {"token": 1, "ttl": SECOND, "attempt": 0}

    with pytest.raises(TypeError, match=rf"Grant\({field}={value}|Grant\({field}='1'"):
        Grant(**fields | {field: value})


def test_a_grant_was_not_asked_for_in_the_future() -> None:
    with pytest.raises(ValueError, match=r"it is a time\.monotonic_ns\(\)"):
        Grant(token=1, ttl=SECOND, attempt=time.time_ns() + time.monotonic_ns())


def test_a_grant_may_lack_each_field() -> None:
    assert Grant(token=None, ttl=None, attempt=None) == Grant(token=None, ttl=None, attempt=None)
