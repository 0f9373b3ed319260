"""A lock and a storage over HTTP: the contract, what is no answer, and the example service."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from scripts import started, wait_until_listening
from systems import SECOND, Memory, commits_of, lock_settings, storage_settings

from harness.engines.child import Nest
from harness.engines.ports import free_addresses
from harness.recorder import RecordedSession
from workloads.client import NotApplied, Stale, Unknown
from workloads.http_connection import HttpConnection
from workloads.locks import connect
from workloads.storages import of_kind

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/http-service"
TIMEOUT = 0.5  # seconds


def nothing() -> None:
    """Do nothing once the request has left."""


@contextmanager
def answering(*answers):
    """Give the address of a server that answers each request with the next of these bytes, and then is silent."""
    requests = []

    def serve(connection):
        with connection, suppress(OSError):
            for answer in answers:
                if not (asked := connection.recv(65536)):
                    return
                requests.append(asked)
                for piece in [answer] if isinstance(answer, bytes) else answer:
                    connection.sendall(piece)
            connection.recv(65536)

    def accept():
        try:
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", requests
        listener.shutdown(socket.SHUT_RDWR)


def answer(content, status="200 OK"):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def storage_at(endpoint):
    return of_kind("http").connect(storage_settings("http", [endpoint], timeout=TIMEOUT))


def lock_at(endpoint):
    settings = lock_settings("http", [endpoint], timeout=TIMEOUT, ttl=SECOND)
    return connect(settings, RecordedSession(Memory(), 0, 1))


class TestWhatAnAnswerMeans:
    @pytest.mark.parametrize(
        ("said", "means"),
        [
            (answer({"resource_id": "r0"}), None),
            (answer({"resource_id": "r0", "more": [1]}), None),
            (answer({"error": "stale"}, "409 Conflict"), Stale),
            (answer({"error": "no such file"}, "409 Conflict"), NotApplied),
            (answer({"resource_id": "r1"}), Unknown),
            (answer({}), Unknown),
            (answer([]), Unknown),
            (answer(b"yes"), Unknown),
            (answer(b""), Unknown),
            (answer(b'{"resource_id": "r0"', "200 OK"), Unknown),
            (answer({"reason": "stale"}, "409 Conflict"), Unknown),
            (answer(b"stale", "409 Conflict"), Unknown),
            (answer({"resource_id": "r0"}, "201 Created"), Unknown),
            (answer({"resource_id": "r0"}, "302 Found\r\nLocation: /elsewhere"), Unknown),
            (answer({"error": "stale"}, "400 Bad Request"), Unknown),
            (answer({"error": "stale"}, "500 Internal Server Error"), Unknown),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", Unknown),
            (b"what?\r\n\r\n", Unknown),
        ],
    )
    def test_only_a_200_that_fits_is_ok_and_only_a_409_that_says_why_is_certain(self, said, means):
        with answering(said) as (endpoint, requests), closing_storage(endpoint) as storage:
            ended = None
            try:
                storage.write("r0", 1, "v", nothing)
            except (NotApplied, Unknown) as error:
                ended = type(error) if isinstance(error, Stale | Unknown) else NotApplied

            assert ended is means
            assert len(requests) == 1

    @pytest.mark.parametrize(
        "lacking", ["resource_id", "lock_acquired", "lock_token", "fencing_token", "lease_duration_ms"]
    )
    def test_a_grant_that_lacks_a_field_is_none(self, lacking):
        granted = grant()
        del granted[lacking]

        with (
            answering(answer(granted)) as (endpoint, _),
            closing(lock_at(endpoint)) as lock,
            pytest.raises(Unknown),
        ):
            lock.acquire("r0", "0-1")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"fencing_token": "34"},
            {"fencing_token": 34.5},
            {"fencing_token": True},
            {"fencing_token": -1},
            {"fencing_token": 2**63},
            {"lock_token": ""},
            {"lock_token": 7},
            {"lease_duration_ms": 0},
            {"lock_acquired": "yes"},
        ],
    )
    def test_a_grant_with_a_wrong_field_is_none(self, wrong):
        said = answer(grant() | wrong)

        with answering(said) as (endpoint, _), closing(lock_at(endpoint)) as lock, pytest.raises(Unknown):
            lock.acquire("r0", "0-1")

    def test_a_grant_promises_what_the_service_says_from_when_it_was_asked(self):
        called = time.monotonic_ns()
        busy = answer({"resource_id": "r0", "lock_acquired": False})
        with answering(busy, answer(grant())) as (endpoint, requests), closing(lock_at(endpoint)) as lock:
            granted = lock.acquire("r0", "0-1")

        assert (granted.token, granted.ttl) == (34, 700_000_000)
        assert called < granted.attempt < time.monotonic_ns()
        asked = json.loads(requests[0].partition(b"\r\n\r\n")[2])
        assert asked == {"resource_id": "r0", "owner": "0-1", "lease_duration_ms": 1000}

    @pytest.mark.parametrize(
        ("said", "read"),
        [
            ({"fencing_token": None, "bytes": None}, (None, 0)),
            ({"fencing_token": 0, "bytes": "dgo="}, ("v", 0)),
            ({"fencing_token": 7, "bytes": ""}, ("", 7)),
        ],
    )
    def test_a_read_tells_the_last_write_if_there_was_one(self, said, read):
        with (
            answering(answer({"resource_id": "r0"} | said)) as (endpoint, _),
            closing_storage(endpoint) as storage,
        ):
            assert storage.read("r0") == read

    @pytest.mark.parametrize(
        "wrong",
        [
            {"fencing_token": 7},
            {"fencing_token": None, "bytes": "dgo="},
            {"fencing_token": 7, "bytes": None},
            {"fencing_token": 7, "bytes": "no base64"},
            {"fencing_token": 7, "bytes": "//8="},
        ],
    )
    def test_a_read_that_cannot_be_of_a_write_is_none(self, wrong):
        said = answer({"resource_id": "r0"} | wrong)

        with answering(said) as (endpoint, _), closing_storage(endpoint) as storage, pytest.raises(Unknown):
            storage.read("r0")

    def test_a_service_without_an_order_of_commits_tells_none(self):
        with answering(answer({"error": "?"}, "404 Not Found")) as (endpoint, _):
            assert of_kind("http").committed(storage_settings("http", [endpoint])) is None

    def test_a_resource_that_was_written_before_the_run_is_refused(self):
        old = answer({"resource_id": "r0", "fencing_token": 7, "bytes": "dgo="})

        with answering(old) as (endpoint, _), pytest.raises(NotApplied, match="r0 has been written before"):
            of_kind("http").set_up(storage_settings("http", [endpoint]), ["r0"])


@contextmanager
def closing_storage(endpoint):
    storage = storage_at(endpoint)
    yield storage
    storage.reconnect()


def grant():
    return {
        "resource_id": "r0",
        "lock_acquired": True,
        "lock_token": "c0ffee",
        "fencing_token": 34,
        "lease_duration_ms": 700,
        "acquired_at": "2026-11-21T14:42:11Z",
    }


def drip(content):
    for place in range(len(content)):
        time.sleep(TIMEOUT / 4)
        yield content[place : place + 1]


class TestDeadline:
    @pytest.mark.parametrize("said", [[], drip(b"HTTP/1.1 200 OK\r\n" * 9), drip(answer(b"{" + b" " * 99))])
    def test_a_server_that_is_silent_or_drips_is_waited_for_no_longer_than_that(self, said):
        with answering(said) as (endpoint, requests), closing_storage(endpoint) as storage:
            called = time.monotonic()
            with pytest.raises(Unknown, match=r"timeout of 0\.5 s"):
                storage.write("r0", 1, "v", nothing)

        assert TIMEOUT <= time.monotonic() - called < 2 * TIMEOUT
        assert len(requests) == 1

    def test_a_body_that_drips_after_its_head_is_waited_for_no_longer_either(self):
        head, _, body = answer(json.dumps({"resource_id": "r0"}).encode()).partition(b"\r\n\r\n")

        def slowly():
            yield head + b"\r\n\r\n"
            yield from drip(body)

        with answering(slowly()) as (endpoint, _), closing_storage(endpoint) as storage:
            called = time.monotonic()
            with pytest.raises(Unknown, match="timeout"):
                storage.write("r0", 1, "v", nothing)

        assert time.monotonic() - called < 2 * TIMEOUT

    def test_a_connection_that_nobody_accepts_is_waited_for_no_longer_either(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            address = listener.getsockname()[:2]
            with closing(socket.create_connection(address)), closing(socket.socket()) as second:
                second.setblocking(False)
                second.connect_ex(address)
                called = time.monotonic()
                with (
                    closing_storage(f"127.0.0.1:{address[1]}") as storage,
                    pytest.raises((NotApplied, Unknown)),
                ):
                    storage.write("r0", 1, "v", nothing)

        assert time.monotonic() - called < 2 * TIMEOUT

    def test_sent_is_called_once_the_request_has_left(self):
        with (
            answering(answer({"resource_id": "r0"})) as (endpoint, requests),
            closing_storage(endpoint) as storage,
        ):
            seen = []

            def sent():
                deadline = time.monotonic() + 5
                while not requests and time.monotonic() < deadline:
                    time.sleep(0.001)
                seen.append(len(requests))

            storage.write("r0", 1, "v", sent)

        assert seen == [1]

    def test_an_answer_that_came_while_the_client_was_stopped_counts(self):
        with answering(answer({"resource_id": "r0"})) as (endpoint, _), closing_storage(endpoint) as storage:

            def stopped():
                until = time.monotonic() + 2 * TIMEOUT
                while time.monotonic() < until:
                    time.sleep(0.01)

            storage.write("r0", 1, "v", stopped)


class TestConnection:
    def test_one_connection_serves_many_calls(self):
        done = answer({"resource_id": "r0"})
        with answering(done, done, done) as (endpoint, requests), closing_storage(endpoint) as storage:
            for token in range(3):
                storage.write("r0", token, "v", nothing)

        assert len(requests) == 3

    def test_one_that_the_server_closed_while_it_was_idle_is_opened_anew_before_anything_is_sent(self):
        with answering(answer({"resource_id": "r0"}), b"") as (endpoint, _):
            connection = HttpConnection(endpoint, TIMEOUT)
            connection.call("/write", {})
            connection._socket.shutdown(socket.SHUT_WR)
            wait_until_dropped(connection._socket)

            assert connection.call("/write", {}).status == 200
            connection.close()

    def test_a_name_without_an_address_was_never_reached(self):
        with pytest.raises(NotApplied, match="not connected"):
            HttpConnection("no-such-host.invalid:80", TIMEOUT).connect()

    def test_the_environments_proxies_are_not_used(self, monkeypatch):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        with answering(answer({"resource_id": "r0"})) as (endpoint, _), closing_storage(endpoint) as storage:
            storage.write("r0", 1, "v", nothing)

    def test_a_path_of_the_url_comes_before_those_of_the_calls(self):
        with (
            answering(answer({"resource_id": "r0"})) as (endpoint, requests),
            closing_storage(f"{endpoint}/v2/") as storage,
        ):
            storage.write("r0", 1, "v", nothing)

        assert requests[0].startswith(b"POST /v2/write HTTP/1.1\r\n")


def wait_until_dropped(opened):
    deadline = time.monotonic() + 5
    opened.setblocking(False)
    while time.monotonic() < deadline:
        try:
            if opened.recv(1, socket.MSG_PEEK) == b"":
                break
        except BlockingIOError:
            time.sleep(0.01)
    opened.setblocking(True)


@pytest.fixture
def nest(tmp_path):
    made = Nest(tmp_path / "servers", tmp_path / "logs", {})
    made.make()
    yield made
    made.close()


@pytest.fixture
def address():
    return free_addresses(1)[0]


def ask(address, path, **fields):
    with closing(HttpConnection(str(address), 5)) as connection:
        reply = connection.call(path, fields)
    return reply.status, json.loads(reply.content)


def write(address, token, value):
    payload = {
        "file_path": "r0.log",
        "mutation_type": "APPEND",
        "bytes": base64.b64encode(f"{value}\n".encode()).decode(),
    }
    return ask(address, "/write", resource_id="r0", fencing_token=token, write_payload=payload)


def acquire(address, owner="0-1", lease=200):
    return ask(address, "/acquire", resource_id="r0", owner=owner, lease_duration_ms=lease)[1]


class TestExample:
    def test_the_mark_and_the_counter_survive_a_kill(self, nest, address):
        started(nest, "service", "http", address, "--policy", "strict")
        first = acquire(address)["fencing_token"]
        assert write(address, 34, "new")[0] == 200

        nest.children[0].kill()
        nest.start_again(nest.children[0])
        wait_until_listening_again(nest)

        assert write(address, 33, "old") == (409, {"error": "stale"})
        assert ask(address, "/read", resource_id="r0")[1]["fencing_token"] == 34
        assert write(address, 35, "newer")[0] == 200
        assert (nest.home / "data/files/r0.log").read_text() == "new\nnewer\n"
        assert granted_at_last(address)["fencing_token"] > first

    def test_a_service_that_starts_again_grants_nothing_until_the_old_leases_have_ended(self, nest, address):
        started(nest, "service", "http", address)
        held = time.monotonic()
        acquire(address, lease=1500)
        nest.children[0].kill()
        nest.start_again(nest.children[0])
        wait_until_listening_again(nest)

        granted_at_last(address)

        assert time.monotonic() > held + 1.5

    def test_half_a_line_at_the_end_of_the_journal_was_never_accepted(self, nest, address):
        started(nest, "service", "http", address)
        write(address, 1, "whole")
        nest.children[0].kill()
        with (nest.home / "data/journal.jsonl").open("a") as journal:
            journal.write('{"resource_id": "r0", "fencing_token": 9, "by')
        nest.start_again(nest.children[0])
        wait_until_listening_again(nest)

        assert write(address, 2, "next")[0] == 200
        assert [each["fencing_token"] for each in ask(address, "/commits", prefix="")[1]["commits"]] == [1, 2]

    @pytest.mark.parametrize(
        ("options", "accepted"),
        [
            (("--policy", "strict"), [5, 6]),
            (("--policy", "inclusive"), [5, 5, 6]),
            (("--no-fence",), [5, 4, 5, 6]),
        ],
    )
    def test_its_fence_is_as_strict_as_it_is_told(self, nest, address, options, accepted):
        started(nest, "service", "http", address, *options)

        for token in (5, 4, 5, 6):
            write(address, token, f"v{token}")

        assert [token for token, _ in commits_of("http", [str(address)], "r0")] == accepted

    def test_a_fence_keeps_the_value_and_older_writers_out(self, nest, address):
        started(nest, "service", "http", address)
        storage = storage_at(str(address))
        storage.write("r0", 3, "kept", nothing)
        storage.fence("r0", 5)

        with pytest.raises(Stale):
            storage.write("r0", 4, "late", nothing)
        with pytest.raises(Stale):
            storage.fence("r0", 4)
        assert storage.read("r0") == ("kept", 3)
        storage.reconnect()

    @pytest.mark.parametrize("path", ["../r0.log", "..", "/etc/passwd", "a/b", ""])
    def test_a_file_elsewhere_is_refused(self, nest, address, path):
        started(nest, "service", "http", address)
        payload = {"file_path": path, "mutation_type": "APPEND", "bytes": ""}

        status, _ = ask(address, "/write", resource_id="r0", fencing_token=1, write_payload=payload)

        assert status == 409
        assert ask(address, "/commits", prefix="")[1] == {"commits": []}

    def test_an_acquire_whose_answer_was_lost_is_taken_back_by_its_owner(self, nest, address):
        started(nest, "service", "http", address)
        acquire(address, owner="0-1", lease=60_000)

        lock = lock_at(str(address))
        lock.revoke("r0", "0-1")

        assert acquire(address, owner="0-2")["lock_acquired"]
        lock.close()

    def test_whoever_shows_another_lock_token_frees_nothing(self, nest, address):
        started(nest, "service", "http", address)
        acquire(address, lease=60_000)

        status, _ = ask(address, "/release", resource_id="r0", owner="0-1", lock_token="a guess")

        assert status == 409
        assert not acquire(address, owner="0-2")["lock_acquired"]


def wait_until_listening_again(nest):
    """Its log goes on where the last process ended."""
    deadline = time.monotonic() + 20
    while nest.children[-1].read_log().count("listening on") < 2:
        nest.children[-1].check()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    wait_until_listening(nest.children[-1])


def granted_at_last(address):
    deadline = time.monotonic() + 20
    while not (answered := acquire(address, owner="1-1"))["lock_acquired"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answered


def run(tmp_path, name, url, *settings):
    """Run a target of the example against a service at another address."""
    options = (f"lock.url={url}", f"storage.url={url}", "workload.duration=8s", *settings)
    return subprocess.run(
        [
            *[sys.executable, "-m", "harness.cli", "run", "--engine", "local", "--format", "json"],
            *[word for setting in options for word in ("--set", setting)],
            EXAMPLE / f"{name}.toml",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


class TestRun:
    @pytest.mark.parametrize(
        ("name", "options", "verdict"),
        [("http", ("--policy", "strict"), "valid"), ("http-unfenced", ("--no-fence",), "invalid")],
    )
    def test_the_targets_of_the_example_find_what_they_expect(
        self, nest, address, tmp_path, name, options, verdict
    ):
        started(nest, "service", "http", address, *options)

        done = run(tmp_path, name, f"http://{address}")

        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["verdict"] == verdict
        assert document["coverage"]["stale_writes_attempted"] >= 1
        assert {"committed", "observed"} == {each["evidence"] for each in document["checkers"]}

    def test_two_runs_of_one_service_have_nothing_to_do_with_each_other(self, nest, address, tmp_path):
        started(nest, "service", "http", address, "--policy", "strict")
        run(tmp_path, "http", f"http://{address}")
        nest.children[0].kill()
        nest.start_again(nest.children[0])
        wait_until_listening_again(nest)

        done = run(tmp_path, "http", f"http://{address}")

        assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "valid"), done.stderr

    @pytest.mark.parametrize("side", ["lock", "storage"])
    def test_an_address_that_refuses_ends_the_run_before_any_client_starts(
        self, nest, address, tmp_path, side
    ):
        started(nest, "service", "http", address)

        done = run(tmp_path, "http", f"http://{address}", f"{side}.url=http://127.0.0.1:1")

        assert (done.returncode, done.stdout) == (3, "")
        said = done.stderr.splitlines()
        assert len(said) == 1
        assert f"nothing answers at {side}.url http://127.0.0.1:1: " in said[0]
        assert "start the service first" in said[0]
        assert not (tmp_path / "runs").exists()

    @pytest.mark.parametrize(
        ("url", "side"),
        [
            ("127.0.0.1:8420", "lock"),
            ("https://127.0.0.1:8420", "lock"),
            ("http://", "storage"),
            ("http://me:secret@127.0.0.1", "storage"),
            ("http://127.0.0.1:8420/?a=1", "lock"),
            ("http://127.0.0.1:84200", "lock"),
            ("http://127.0.0.1:x", "lock"),
            ("http://127.0.0.1/a b", "lock"),
        ],
    )
    def test_what_is_no_address_is_told_with_an_example(self, tmp_path, url, side):
        done = run(tmp_path, "http", "http://127.0.0.1:1", f'{side}.url="{url}"')

        assert done.returncode == 4
        assert f'{side}.url = "{url}": must be such as "http://127.0.0.1:8420"' in done.stderr

    def test_nobody_can_be_cut_off_from_what_is_not_started(self, tmp_path):
        (tmp_path / "cut.toml").write_text(
            (EXAMPLE / "http.toml").read_text()
            + '\n[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "2s"\n'
        )
        done = subprocess.run(
            [sys.executable, "-m", "harness.cli", "validate", "cut.toml"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert done.returncode == 4
        assert 'nobody can be cut off from lock.kind "http"' in done.stderr
