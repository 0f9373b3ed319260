"""The line protocol: programs that follow it, and programs that break it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.clients.recorder import RecordedSession
from harness.nemesis.pause import pause
from harness.processes.process_tree import is_stopped
from harness.processes.program import Command, RunningProgram
from tests.support.systems import SECOND, TTL, Memory, lock_settings, storage_settings
from workloads.client import NotApplied, Stale, Unknown
from workloads.line_protocol.clients import ProgramLock, ProgramStorage, committed, set_up
from workloads.line_protocol.pipe import MAX_LINE
from workloads.line_protocol.program_client import ProgramClient, ProgramError, start_fields
from workloads.unsolicited_data import has_input

TIMEOUT = 0.3  # seconds
SETTINGS = start_fields(
    3, lock_settings("client", [], timeout=TIMEOUT), storage_settings("client", ["a:1"], timeout=TIMEOUT)
)

PROGRAM = """
import json, os, sys, time
def say(**fields):
    print(json.dumps(fields), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    number, op = request["id"], request["op"]
    if op in ("start", "reconnect"):
        say(id=number, outcome="ok")
        continue
{body}
"""


def command_of(source: str) -> Command:
    return Command(words=(sys.executable, "-c", source), marks={})


def program(body: Any) -> Command:
    """A program that gets ready, reconnects, and runs `body` for every other request."""
    return command_of(PROGRAM.format(body=textwrap.indent(textwrap.dedent(body), "    ")))


@pytest.fixture
def speak() -> Iterator[Any]:
    """Start a program and its client; both end with the test."""
    begun = []

    def begin(body: Any, timeout: float = TIMEOUT) -> ProgramClient:
        command = body if isinstance(body, Command) else program(body)
        begun.append(ProgramClient(command.start, SETTINGS, timeout))
        return begun[-1]

    yield begin
    for client in begun:
        client.close()


def lock_of(client: Any) -> Any:
    memory = Memory()
    return ProgramLock(client, RecordedSession(memory, process=10, stride=100), TTL), memory


def storage_of(client: Any) -> Any:
    return ProgramStorage(client, lambda: None)


def wait_for(condition: Callable[..., Any], seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    return condition()


def test_the_first_request_has_the_settings(speak: Any) -> None:
    client = speak(
        command_of(
            """
import json, sys
first = json.loads(sys.stdin.readline())
print(json.dumps({"id": first["id"], "outcome": "ok"}), flush=True)
second = json.loads(sys.stdin.readline())
print(json.dumps({"id": second["id"], "outcome": "ok", "first": first, "second": second}), flush=True)
sys.stdin.read()
"""
        )
    )

    answer = client.request("write", resource="r0", token=5, value="0-1.0")

    assert answer["first"] == {
        "id": 1,
        "op": "start",
        "protocol": 1,
        "client": 3,
        "timeout_ms": 300,
        "lock": {"kind": "client", "endpoints": [], "ttl_ms": 2000, "token": "", "password": ""},
        "storage": {
            "kind": "client",
            "endpoints": ["a:1"],
            "fencing": "none",
            "policy": "strict",
            "fence_on_acquire": False,
            "password": "",
        },
    }
    assert answer["second"] == {"id": 2, "op": "write", "resource": "r0", "token": 5, "value": "0-1.0"}


@pytest.mark.parametrize(
    ("answer", "raised", "said"),
    [
        ('outcome="stale"', Stale, "stale"),
        ('outcome="failed", reason="no row"', NotApplied, "failed: no row"),
        ('outcome="failed", reason="stale"', NotApplied, "failed: stale"),
        ('outcome="unsupported"', NotApplied, "does not support it"),
        ('outcome="unknown", reason="timeout"', Unknown, "timeout"),
        ('outcome="OK"', Unknown, "outcome 'OK'"),
        ("outcome=1", Unknown, "Expected `str | null`"),
        ("", Unknown, "without an outcome"),
    ],
)
def test_the_program_decides_the_outcome_of_a_write(
    speak: Any, answer: str, raised: type[Any], said: str
) -> None:
    storage = storage_of(speak(f"say(id=number, {answer})"))

    with pytest.raises(raised, match=said) as caught:
        storage.write("r0", 5, "0-1.0", lambda: None)

    assert isinstance(caught.value, Stale) == (raised is Stale)
    assert str(caught.value) != "stale" or raised is Stale


def test_only_a_fence_rejects_as_stale(speak: Any) -> None:
    lock, _ = lock_of(speak('say(id=number, outcome="stale")'))

    with pytest.raises(Unknown, match="answered acquire with outcome 'stale'"):
        lock.acquire("r0", "0-1")


@pytest.mark.parametrize(
    "line", ["ready", "[]", "{", '{"outcome": "ok"}', '{"id": 99, "outcome": "ok"}', '{"id": "2"}', "\\xff"]
)
def test_an_invalid_line_is_never_an_answer(speak: Any, line: str) -> None:
    storage = storage_of(speak(f"print({line!r}, flush=True)"))

    with pytest.raises(Unknown, match=r"the program (said|answered)"):
        storage.write("r0", 5, "0-1.0", lambda: None)


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

    assert time.monotonic() - called < 5


def test_a_program_that_does_not_read_its_input_is_unknown_too(speak: Any) -> None:
    storage = storage_of(speak("time.sleep(60)"))
    with pytest.raises(Unknown):
        storage.read("r0")

    with pytest.raises(Unknown, match="no answer in time"):
        storage.write("r0", 5, "x" * 1_000_000, lambda: None)


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

    with pytest.raises(Unknown, match=r"the program answered a request (that was not|before it was) made"):
        storage.read("r0")

    storage.reconnect()
    assert storage.read("r0") == ("true", 5)


def test_a_program_that_answers_before_any_request_is_never_ready() -> None:
    source = """import time; print('{"id": 1, "outcome": "ok"}', flush=True); time.sleep(60)"""

    def start() -> RunningProgram:
        started = command_of(source).start()
        assert has_input(started.reading, 10)
        return started

    refused = r"did not become ready: the program answered a request (that was not|before it was) made"
    with pytest.raises(ProgramError, match=refused):  # the end of its line may come after our first
        ProgramClient(start, SETTINGS, TIMEOUT)


def test_a_program_that_never_stops_talking_is_unknown(speak: Any) -> None:
    storage = storage_of(
        speak("""
        say(id=number, outcome="ok")
        while True:
            sys.stdout.write('{"id": 1, "outcome": "ok"}\\n' * 1000)
        """)
    )
    storage.fence("r0", 1)

    with pytest.raises(Unknown, match="no answer in time"):
        storage.read("r0")


def test_the_end_of_a_program_is_unknown_and_a_new_one_answers_next(speak: Any) -> None:
    storage = storage_of(
        speak('os._exit(3) if op == "write" else say(id=number, outcome="ok", value=None, token=0)')
    )

    with pytest.raises(Unknown, match="closed its standard"):
        storage.write("r0", 5, "0-1.0", lambda: None)
    storage.reconnect()

    assert storage.read("r0") == (None, 0)


def test_a_program_that_does_not_reconnect_is_killed_and_restarted(speak: Any) -> None:
    client = speak(
        """
        if op == "write":
            time.sleep(600)
        say(id=number, outcome="ok", value=str(os.getpid()), token=0)
        """
    )
    storage = storage_of(client)
    first = int(storage.read("r0")[0])
    with pytest.raises(Unknown):
        storage.write("r0", 5, "0-1.0", lambda: None)

    assert client.reconnect("storage")

    assert int(storage.read("r0")[0]) != first
    assert not psutil.pid_exists(first)


def test_a_program_that_reconnects_is_left_as_it_is(speak: Any) -> None:
    client = speak('say(id=number, outcome="ok", value=str(os.getpid()), token=0)')
    first = client.request("read")["value"]

    assert not client.reconnect("lock")

    assert client.request("read")["value"] == first


def test_the_lock_of_a_killed_program_is_recorded_as_released(speak: Any) -> None:
    client = speak(
        """
        if op == "acquire":
            say(id=number, outcome="ok", token=5, ttl_ms=2000)
        """
    )
    lock, memory = lock_of(client)
    storage = ProgramStorage(client, lock.restarted)
    lock.acquire("r0", "0-1")
    with pytest.raises(Unknown):
        storage.write("r0", 5, "0-1.0", lambda: None)

    os.kill(client._program.process.pid, signal.SIGKILL)
    storage.reconnect()

    assert [(event["type"], event["f"], event["owner"]) for event in memory.events] == [
        ("invoke", "release", "0-1"),
        ("info", "release", "0-1"),
    ]


def test_a_grant_carries_the_token_the_lease_and_the_attempt(speak: Any) -> None:
    lock, _ = lock_of(
        speak('say(id=number, outcome="ok", token=2**53 + 1, ttl_ms=1500, attempt_ns=time.monotonic_ns())')
    )
    called = time.monotonic_ns()

    grant = lock.acquire("r0", "0-1")

    assert (grant.token, grant.ttl) == (2**53 + 1, 1_500_000_000)
    assert called <= grant.attempt <= time.monotonic_ns()


def test_a_grant_may_promise_no_length(speak: Any) -> None:
    lock, _ = lock_of(speak('say(id=number, outcome="ok", token=0, ttl_ms=None)'))

    grant = lock.acquire("r0", "0-1")

    assert (grant.token, grant.ttl, grant.attempt) == (0, None, None)


@pytest.mark.parametrize(
    "fields",
    [
        "ttl_ms=2000",
        "token=5",
        'token="5", ttl_ms=2000',
        "token=5.0, ttl_ms=2000",
        "token=True, ttl_ms=2000",
        "token=-1, ttl_ms=2000",
        "token=2**63, ttl_ms=2000",
        "token=None, ttl_ms=2000",
        "token=5, ttl_ms=0",
        'token=5, ttl_ms="2s"',
        "token=5, ttl_ms=2000, attempt_ns=time.time_ns()",
        "token=5, ttl_ms=2000, attempt_ns=1",
    ],
)
def test_an_ok_with_invalid_fields_is_not_a_grant(speak: Any, fields: str) -> None:
    lock, _ = lock_of(speak(f'say(id=number, outcome="ok", {fields})'))

    with pytest.raises(Unknown, match=r"the program said|not a CLOCK_MONOTONIC time"):
        lock.acquire("r0", "0-1")


@pytest.mark.parametrize("fields", ["", "value=None", "value=3, token=1", 'value="x", token="1"'])
def test_an_ok_with_invalid_fields_is_not_a_read(speak: Any, fields: str) -> None:
    storage = storage_of(speak(f'say(id=number, outcome="ok", {fields})'))

    with pytest.raises(Unknown, match="the program said"):
        storage.read("r0")


def test_a_program_may_report_that_a_write_was_sent(speak: Any) -> None:
    storage = storage_of(speak('say(id=number, event="sent"); say(id=number, outcome="stale")'))
    sent = []

    with pytest.raises(Stale):
        storage.write("r0", 5, "0-1.0", lambda: sent.append(1))

    assert sent == [1]


RENEWS = """
if op == "acquire":
    say(id=number, outcome="ok", token=5, ttl_ms=2000)
    began = time.monotonic_ns()
else:
    say(event="renewed", resource="r0", owner={owner!r}, ttl_ms=2000, called_ns={called})
    say(id=number, outcome="ok", value=None, token=0)
"""


def renewals(speak: Any, owner: str = "0-1", called: str = "time.monotonic_ns() - 500_000_000") -> Any:
    client = speak(RENEWS.format(owner=owner, called=called))
    lock, memory = lock_of(client)
    lock.acquire("r0", "0-1")
    client.request("read", resource="r0")
    return memory.events


def test_a_reported_renewal_is_recorded_with_the_rest_of_its_lease(speak: Any) -> None:
    invoke, ok = renewals(speak)

    assert (invoke["type"], invoke["f"], invoke["owner"]) == ("invoke", "renew", "0-1")
    assert ok["type"] == "ok"
    assert ok["ttl"] < 1.5 * SECOND
    assert invoke["time"] + ok["ttl"] <= ok["time"] + 1.5 * SECOND


@pytest.mark.parametrize("called", ["time.monotonic_ns() - 2_100_000_000", "time.monotonic_ns() + 10**12"])
def test_a_renewal_of_another_time_promises_nothing(speak: Any, called: str) -> None:
    _, ended = renewals(speak, called=called)

    assert ended["type"] == "info"


def test_a_renewal_of_another_hold_does_not_count(speak: Any) -> None:
    assert renewals(speak, owner="0-0") == []


def test_a_program_need_not_support_set_up(speak: Any) -> None:
    set_up(speak('say(id=number, outcome="unsupported")'), ["r0"])


def test_a_failed_set_up_of_a_program_is_reported(speak: Any) -> None:
    with pytest.raises(NotApplied, match="failed: no rights"):
        set_up(speak('say(id=number, outcome="failed", reason="no rights")'), ["r0"])


def test_the_commit_order_is_reported_line_by_line(speak: Any) -> None:
    client = speak(
        """
        for token in (3, 2):
            say(id=number, event="commit", resource="r0", token=token, value=f"0-{token}")
        say(id=number, outcome="ok")
        """
    )

    commits = committed(client)

    assert [(each.seq, each.resource, each.token, each.value) for each in commits] == [
        (1, "r0", 3, "0-3"),
        (2, "r0", 2, "0-2"),
    ]


def test_the_commit_order_has_the_fences_between_the_writes(speak: Any) -> None:
    client = speak(
        """
        say(id=number, event="commit", resource="r0", token=3, value="0-3")
        say(id=number, event="commit", resource="r0", token=4, fence=True)
        say(id=number, event="commit", resource="r0", token=4, value="0-4")
        say(id=number, outcome="ok")
        """
    )

    assert [(each.seq, each.token, each.value, each.fence) for each in committed(client)] == [
        (1, 3, "0-3", False),
        (2, 4, None, True),
        (3, 4, "0-4", False),
    ]


def test_an_unknown_commit_order_is_none(speak: Any) -> None:
    assert committed(speak('say(id=number, outcome="unsupported")')) is None


@pytest.mark.parametrize(
    "body",
    [
        'say(id=number, event="commit", resource="r0", token=3); say(id=number, outcome="ok")',
        'say(id=number, event="commit", resource="r0", token=3, value="x"); os._exit(0)',
        'say(id=number, event="commit", resource="r0", token=3, value="x", fence=True); say(id=number, outcome="ok")',
        'say(id=number, event="commit", resource="r0", fence=True); say(id=number, outcome="ok")',
    ],
)
def test_a_partial_commit_order_is_unknown(speak: Any, body: str) -> None:
    with pytest.raises(Unknown):
        committed(speak(body))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import sys; sys.exit(7)", "closed its standard.*ended with status 7"),
        ("print('hello', flush=True); input(); input()", "the program said hello: .*; it still runs"),
        (
            "import json, sys; print(json.dumps({'id': 1, 'outcome': 'failed', 'reason': 'no 2'}), flush=True); sys.stdin.read()",
            "failed: no 2; it still runs",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "ended with SIGABRT"),
    ],
)
def test_a_program_that_is_never_ready_is_reported_in_one_sentence(
    speak: Any, source: str, said: str
) -> None:
    with pytest.raises(ProgramError, match=f"did not become ready: .*{said}") as caught:
        speak(command_of(source))

    assert "\n" not in str(caught.value)


def test_a_client_stopped_with_its_program_still_receives_the_answer() -> None:
    """Both are stopped for longer than any deadline during a write."""
    script = textwrap.dedent(
        f"""
        import sys
        sys.path[:0] = {sys.path!r}
        from tests.workloads.line_protocol.test_line_protocol import SETTINGS, program
        from workloads.line_protocol.clients import ProgramStorage
        from workloads.line_protocol.program_client import ProgramClient

        client = ProgramClient(
            program('say(id=number, event="sent"); time.sleep(0.4); say(id=number, outcome="ok")').start, SETTINGS, 0.3
        )
        ProgramStorage(client, None).write("r0", 5, "0-1.0", lambda: print("sent", flush=True))
        print("ok", flush=True)
        client.close()
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as client:
        head = psutil.Process(client.pid)
        assert client.stdout.readline() == "sent\n"

        with pause(head, "client:0"):
            stopped = [head, *head.children(recursive=True)]
            until = time.monotonic() + 3
            assert wait_for(lambda: time.monotonic() > until)
            assert len(stopped) == 2
            assert all(is_stopped(each) for each in stopped)

        assert client.stdout.readline() == "ok\n"


def test_a_program_dies_with_its_parent() -> None:
    script = textwrap.dedent(
        f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        from tests.workloads.line_protocol.test_line_protocol import program
        print(program("pass").start().process.pid, flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as client:
        started = psutil.Process(int(client.stdout.readline()))
        assert started.is_running()
        client.kill()

    assert wait_for(lambda: not started.is_running() or started.status() == psutil.STATUS_ZOMBIE)


def test_ending_a_program_ends_its_child_processes() -> None:
    command = Command(words=("sh", "-c", "setsid sleep 60 & exec sleep 60"), marks={})
    running = command.start()
    head = psutil.Process(running.process.pid)
    assert wait_for(lambda: len(head.children()) == 1)
    everybody = [head, *head.children()]

    assert running.process.stdout
    with closing(running.process.stdout):
        running.end()

    assert wait_for(lambda: all(not each.is_running() or each.status() == "zombie" for each in everybody))


GRANTS = """
if op == "acquire":
    {said}
    say(id=number, outcome="ok", token=7, ttl_ms=2000)
"""


def reporting_lock(client: Any, granted: Any) -> Any:
    session = RecordedSession(Memory(), process=10, stride=100, granted=granted)
    return ProgramLock(client, session, TTL)


@pytest.mark.parametrize("fields", ["id=number, ", ""])
def test_a_program_reports_granted_inside_its_acquire(speak: Any, fields: str) -> None:
    reported = []
    client = speak(GRANTS.format(said=f'say({fields}event="granted")'))
    lock = reporting_lock(client, lambda *hold: reported.append(hold))

    grant = lock.acquire("r0", "0-1")

    assert grant.token == 7
    assert reported == [("r0", "0-1")]


def test_a_program_waiting_at_granted_continues_only_with_its_client(speak: Any, tmp_path: Path) -> None:
    went_on = tmp_path / "went-on"
    said = f"""say(id=number, event="granted", wait=True)
    assert json.loads(sys.stdin.readline()) == {{"id": number, "op": "go-on"}}
    open({str(went_on)!r}, "w").close()"""
    before = []
    client = speak(GRANTS.format(said=said))

    def granted(_resource: Any, _owner: Any) -> None:
        wait_for(went_on.exists, seconds=0.2)
        before.append(went_on.exists())

    grant = reporting_lock(client, granted).acquire("r0", "0-1")

    assert grant.token == 7
    assert before == [False]
    assert went_on.exists()


def test_granted_outside_an_acquire_is_ignored(speak: Any) -> None:
    reported = []
    client = speak(
        """
        say(event="granted")
        say(id=number, event="granted")
        say(id=number, outcome="ok", value=None, token=0)
        """
    )
    reporting_lock(client, lambda *hold: reported.append(hold))

    assert storage_of(client).read("r0") == (None, 0)
    assert reported == []


def test_granted_of_an_abandoned_acquire_does_not_count_for_the_next(speak: Any) -> None:
    reported = []
    client = speak(
        """
        if owner := request.get("owner"):
            say(id=2, event="granted")
            say(id=number, outcome="failed", reason=owner)
        else:
            say(id=number, outcome="ok", value=None, token=0)
        """
    )
    lock = reporting_lock(client, lambda *hold: reported.append(hold))
    storage_of(client).read("r0")

    with pytest.raises(NotApplied, match="0-1"):
        lock.acquire("r0", "0-1")

    assert reported == []


def test_granted_with_a_value_other_than_a_flag_is_unknown(speak: Any) -> None:
    client = speak(GRANTS.format(said='say(id=number, event="granted", wait="yes")'))

    with pytest.raises(Unknown, match="Expected `bool`"):
        reporting_lock(client, lambda *_hold: None).acquire("r0", "0-1")
