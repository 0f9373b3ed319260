"""Invalid answers, wrong lines and deadlines of a client's program."""

from __future__ import annotations

import time
from typing import Any

import pytest

from harness.processes.program import RunningProgram
from tests.support.client_programs import SETTINGS, TIMEOUT, command_of, storage_of
from tests.support.waiting import SOON, wait_for
from workloads.client import NotApplied, Unknown
from workloads.commit_room import CommitRoom
from workloads.line_protocol import program_client
from workloads.line_protocol.clients import committed
from workloads.line_protocol.messages import AcquireResult, convert_fields, parse_line
from workloads.line_protocol.pipe import MAX_LINE, POLL, Deadline, NoAnswer
from workloads.line_protocol.program_client import ProgramClient, ProgramError
from workloads.unsolicited_data import has_input


@pytest.mark.parametrize(
    "line",
    [
        "ready", "[]", "{", '{"outcome": "ok"}', '{"id": 99, "outcome": "ok"}',
        '{"id": "2"}', "\\xff", '{"id": 2, "event": "send"}', '{"id": 2, "outcome": "ok", "outcome": "stale"}',
    ],
)  # fmt: skip
def test_an_invalid_line_is_never_an_answer(speak: Any, line: str) -> None:
    storage = storage_of(speak(f"print({line!r}, flush=True)"))

    with pytest.raises(Unknown, match="the program said"):
        storage.write("r0", 5, "0-1.0", lambda: None)


def test_a_second_answer_makes_the_next_outcome_unknown(speak: Any) -> None:
    storage = storage_of(speak('say(id=number, outcome="ok"); say(id=number, outcome="stale")'))
    storage.write("r0", 5, "0-1.0", lambda: None)

    with pytest.raises(Unknown, match=r"the program said .*stale.*, a second answer to one request"):
        storage.write("r0", 6, "0-1.1", lambda: None)


def test_an_answer_to_a_stop_that_was_not_asked_for_is_refused(speak: Any) -> None:
    storage = storage_of(speak('say(id=0, outcome="ok"); say(id=number, outcome="ok")'))

    with pytest.raises(Unknown, match=r"the program said .*ok.*, a second answer to one request"):
        storage.write("r0", 5, "0-1.0", lambda: None)


def test_an_answer_after_its_deadline_is_ignored(speak: Any) -> None:
    storage = storage_of(
        speak(f"""
        if op == "fence":
            time.sleep({TIMEOUT} + 1.2)
        say(id=number, outcome="ok", value="x", token=1)
        """)
    )
    with pytest.raises(Unknown, match="no answer in time"):
        storage.fence("r0", 1)

    assert storage.read("r0") == ("x", 1)


def test_an_endless_line_is_not_an_answer(speak: Any) -> None:
    storage = storage_of(
        speak(f'sys.stdout.write("x" * {MAX_LINE + 100_000}); sys.stdout.flush(); time.sleep(60)', 60)
    )

    with pytest.raises(Unknown, match="a line of more than"):
        storage.read("r0")


def test_silence_ends_with_the_deadline_and_is_unknown(speak: Any) -> None:
    storage = storage_of(speak("time.sleep(60)"))
    called = time.monotonic()

    with pytest.raises(Unknown, match="no answer in time"):
        storage.write("r0", 5, "0-1.0", lambda: None)

    assert time.monotonic() - called < SOON


@pytest.mark.slow
def test_a_program_that_does_not_read_its_input_is_unknown_too(speak: Any) -> None:
    storage = storage_of(speak("time.sleep(60)"))
    with pytest.raises(Unknown):
        storage.read("r0")

    with pytest.raises(Unknown, match="no answer in time"):
        storage.write("r0", 5, "x" * 1_000_000, lambda: None)


@pytest.mark.slow
def test_a_late_answer_belongs_to_no_other_request(speak: Any) -> None:
    """The write's ok arrives during the wait for the read, whose own answer is a failure."""
    storage = storage_of(
        speak(
            """
            if op == "write":
                time.sleep(2)
                say(id=number, event="sent")
                say(id=number, outcome="ok")
            else:
                say(id=number, outcome="failed", reason="of the read")
            """
        )
    )
    sent = []

    with pytest.raises(Unknown):
        storage.write("r0", 5, "0-1.0", lambda: sent.append(1))
    with pytest.raises(NotApplied, match="of the read"):
        storage.read("r0")

    assert sent == []


FORGED = '"outcome": "ok", "value": "forged", "token": 99'


@pytest.mark.parametrize(
    "early",
    [
        f"print('{{\"id\": %d, {FORGED}}}' % (number + 1), flush=True)",
        f"sys.stdout.write('{{\"id\": %d' % (number + 1)); sys.stdout.flush(); late = ', {FORGED}}}\\n'",
    ],
    ids=["a line", "a part of one"],
)
def test_data_that_arrives_before_its_request_is_not_an_answer(speak: Any, early: str) -> None:
    client = speak(
        f"""
        if op == "write":
            say(id=number, outcome="ok")
            {early}
            continue
        if op == "read":
            sys.stdout.write(globals().pop("late", ""))
            say(id=number, outcome="ok", value="true", token=5)
        """
    )
    storage = storage_of(client)
    storage.write("r0", 5, "0-1.0", lambda: None)
    assert wait_for(lambda: client._pipe._buffer or has_input(client._program.reading))

    with pytest.raises(Unknown, match=r"the program said .*request (with that id )?was made"):
        storage.read("r0")

    storage.reconnect()
    assert storage.read("r0") == ("true", 5)


def test_a_program_that_answers_before_any_request_is_never_ready() -> None:
    source = """import time; print('{"id": 1, "outcome": "ok"}', flush=True); time.sleep(60)"""

    def start() -> RunningProgram:
        started = command_of(source).start()
        assert has_input(started.reading, 10)
        return started

    refused = r"did not become ready: the program said .*request (with that id )?was made"
    with pytest.raises(ProgramError, match=refused):  # the end of its line may come after our first
        ProgramClient(start, SETTINGS, TIMEOUT)


@pytest.mark.slow
def test_a_program_that_never_stops_talking_is_unknown(speak: Any) -> None:
    storage = storage_of(
        speak("""
        say(id=number, outcome="ok")
        while True:
            sys.stdout.write('{"id": 1, "event": "sent"}\\n' * 1000)
        """)
    )
    storage.fence("r0", 1)

    with pytest.raises(Unknown, match="no answer in time"):
        storage.read("r0")


def test_a_reason_is_shortened(speak: Any) -> None:
    storage = storage_of(speak('say(id=number, outcome="failed", reason="x" * 1_000_000)'))

    with pytest.raises(NotApplied, match=r"^x{200}… \(1,000,000 characters\)$"):
        storage.read("r0")


def test_a_program_that_writes_without_end_is_given_up(speak: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_client, "MOST_OUTPUT", 10_000)
    client = speak("""
        while True:
            say(id=1, event="sent", reason="late")
        """)

    with pytest.raises(ProgramError, match=r"it wrote more than 9\.766 KiB to standard output"):
        client.request("read", within=60)


def test_an_endless_commit_order_is_given_up(speak: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = speak("""
        while True:
            say(id=number, event="commit", resource="r0", token=1, value="x")
        """)

    room = CommitRoom(recorded=0)
    monkeypatch.setattr(room, "most", 10_000)

    with pytest.raises(
        Unknown, match=r"more than 9\.766 KiB, the most for 0 bytes that the clients recorded"
    ):
        committed(client, room)


MEANING = "an integer from 0 to 2^63 - 1, or its digits as a string; null if there is none"


@pytest.mark.parametrize("line", [b"DEBUG acquiring", b"", b"[]", b"7", b"\xff", b'{"id":'])
def test_a_line_that_is_no_object_belongs_on_standard_error(line: bytes) -> None:
    with pytest.raises(Unknown, match=r"this is no JSON object.*write logs and debug output to standard err"):
        parse_line(line)


@pytest.mark.parametrize("token", ["abc", 3.5, -1, True, 2**63])
def test_a_wrong_token_is_answered_with_what_a_token_is(token: object) -> None:
    with pytest.raises(Unknown) as caught:
        convert_fields(AcquireResult, {"token": token, "ttl_ms": 2000})

    assert str(caught.value).endswith(f"`token` must be {MEANING}")


def test_a_missing_token_is_answered_with_what_a_token_is() -> None:
    with pytest.raises(Unknown) as caught:
        convert_fields(AcquireResult, {"ttl_ms": 2000})

    assert str(caught.value).endswith(f"`token` is missing: {MEANING}")


def test_an_id_in_quotes_is_answered_with_what_an_id_is() -> None:
    with pytest.raises(Unknown, match="`id` must be the number of the request that it answers, as an int"):
        parse_line(b'{"id":"2","outcome":"ok"}')


def test_work_on_what_a_program_says_counts_in_full() -> None:
    deadline = Deadline(2 * POLL)
    began = time.thread_time()
    while time.thread_time() - began < 3 * POLL:
        pass

    with pytest.raises(NoAnswer):
        deadline.next_poll()
