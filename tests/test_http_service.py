"""The example service over HTTP: what survives a kill, how strict its fence is, and its targets run."""

from __future__ import annotations

import base64
import json
import time
from contextlib import closing
from pathlib import Path

import pytest
from command import fencepost, run_target
from scripts import started, wait_until_listening
from systems import FENCE, SECOND, Memory, commits_of, lock_settings, storage_settings

from harness.engines.child import Nest
from harness.engines.ports import free_addresses
from harness.recorder import RecordedSession
from workloads.client import Stale
from workloads.http_connection import HttpConnection
from workloads.locks import connect
from workloads.storages import of_kind

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/http-service"


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
        storage = of_kind("http").connect(storage_settings("http", [str(address)]))
        storage.write("r0", 3, "kept", lambda: None)
        storage.fence("r0", 5)

        with pytest.raises(Stale):
            storage.write("r0", 4, "late", lambda: None)
        with pytest.raises(Stale):
            storage.fence("r0", 4)
        assert storage.read("r0") == ("kept", 3)
        storage.reconnect()
        assert commits_of("http", [str(address)], "r0") == [(3, "kept"), (5, FENCE)]

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

        settings = lock_settings("http", [str(address)], ttl=SECOND)
        lock = connect(settings, RecordedSession(Memory(), 0, 1))
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
    settings = (f"lock.url={url}", f"storage.url={url}", "workload.duration=8s", *settings)
    return run_target(tmp_path, EXAMPLE / f"{name}.toml", *settings)


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
        shown = url.replace("me:secret@", "me:***@")
        assert f'{side}.url = "{shown}": must be such as "http://127.0.0.1:8420"' in done.stderr

    def test_nobody_can_be_cut_off_from_what_is_not_started(self, tmp_path):
        (tmp_path / "cut.toml").write_text(
            (EXAMPLE / "http.toml").read_text()
            + '\n[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "2s"\n'
        )
        done = fencepost(tmp_path, "validate", "cut.toml")

        assert done.returncode == 4
        assert 'nobody can be cut off from lock.kind "http"' in done.stderr
