"""The example service over HTTP: its data after a kill, its fence, and runs of its targets."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from harness.network.ports import free_addresses
from harness.network.topology import Address
from harness.processes.supervisor import Supervisor
from tests.support.challenged import run_until_challenged
from tests.support.command import fencepost, refused, run_target, run_words
from tests.support.repository import ROOT
from tests.support.scripts import started, wait_until_listening
from tests.support.systems import FENCE, SECOND, Memory, commits_of, lock_settings, storage_settings
from tests.support.waiting import PATIENCE
from workloads.client import Stale
from workloads.http_connection import HttpConnection
from workloads.locks import connect
from workloads.storages import load_kind

EXAMPLE = ROOT / "examples/http-service"


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "servers", tmp_path / "logs", {})
    made.make()
    yield made
    made.close()


@pytest.fixture
def address() -> Address:
    return free_addresses(1)[0]


def ask(address: Address, path: str, **fields: Any) -> tuple[int, Any]:
    with closing(HttpConnection(str(address), PATIENCE)) as connection:
        reply = connection.call(path, fields)
    return reply.status, json.loads(reply.content)


def write(address: Address, token: int, value: str) -> tuple[int, Any]:
    payload = {
        "file_path": "r0.log",
        "mutation_type": "APPEND",
        "bytes": base64.b64encode(f"{value}\n".encode()).decode(),
    }
    return ask(address, "/write", resource_id="r0", fencing_token=token, write_payload=payload)


def acquire(address: Address, owner: str = "0-1", lease: int = 200) -> Any:
    return ask(address, "/acquire", resource_id="r0", owner=owner, lease_duration_ms=lease)[1]


class TestExample:
    def test_the_mark_and_the_counter_survive_a_kill(self, supervisor: Supervisor, address: Address) -> None:
        started(supervisor, "service", "http", address, "--policy", "strict")
        first = acquire(address)["fencing_token"]
        assert write(address, 34, "new")[0] == 200

        supervisor.children[0].kill()
        supervisor.restart(supervisor.children[0])
        wait_until_listening_again(supervisor)

        assert write(address, 33, "old") == (409, {"error": "stale"})
        assert ask(address, "/read", resource_id="r0")[1]["fencing_token"] == 34
        assert write(address, 35, "newer")[0] == 200
        assert (supervisor.home / "data/files/r0.log").read_text() == "new\nnewer\n"
        assert granted_at_last(address)["fencing_token"] > first

    @pytest.mark.slow
    def test_a_restarted_service_grants_nothing_until_old_leases_have_ended(
        self, supervisor: Supervisor, address: Address
    ) -> None:
        started(supervisor, "service", "http", address)
        held = time.monotonic()
        acquire(address, lease=1500)
        supervisor.children[0].kill()
        supervisor.restart(supervisor.children[0])
        wait_until_listening_again(supervisor)

        granted_at_last(address)

        assert time.monotonic() > held + 1.5

    def test_half_a_line_at_the_end_of_the_journal_was_never_accepted(
        self, supervisor: Supervisor, address: Address
    ) -> None:
        started(supervisor, "service", "http", address)
        write(address, 1, "whole")
        supervisor.children[0].kill()
        with (supervisor.home / "data/journal.jsonl").open("a") as journal:
            journal.write('{"resource_id": "r0", "fencing_token": 9, "by')
        supervisor.restart(supervisor.children[0])
        wait_until_listening_again(supervisor)

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
    def test_its_fence_follows_the_policy(
        self, supervisor: Supervisor, address: Address, options: tuple[str, ...], accepted: list[int]
    ) -> None:
        started(supervisor, "service", "http", address, *options)

        for token in (5, 4, 5, 6):
            write(address, token, f"v{token}")

        assert [token for token, _ in commits_of("http", [str(address)], "r0")] == accepted

    def test_a_fence_keeps_the_value_and_older_writers_out(
        self, supervisor: Supervisor, address: Address
    ) -> None:
        started(supervisor, "service", "http", address)
        storage = load_kind("http").connect(storage_settings("http", [str(address)]))
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
    def test_a_file_elsewhere_is_refused(self, supervisor: Supervisor, address: Address, path: str) -> None:
        started(supervisor, "service", "http", address)
        payload = {"file_path": path, "mutation_type": "APPEND", "bytes": ""}

        status, _ = ask(address, "/write", resource_id="r0", fencing_token=1, write_payload=payload)

        assert status == 409
        assert ask(address, "/commits", prefix="")[1] == {"commits": []}

    def test_an_acquire_with_a_lost_answer_is_revoked_by_its_owner(
        self, supervisor: Supervisor, address: Address
    ) -> None:
        started(supervisor, "service", "http", address)
        acquire(address, owner="0-1", lease=60_000)

        settings = lock_settings("http", [str(address)], ttl=SECOND)
        lock = connect(settings, RecordedSession(Memory(), 0, 1))
        lock.revoke("r0", "0-1")

        assert acquire(address, owner="0-2")["lock_acquired"]
        lock.close()

    def test_a_client_with_another_lock_token_frees_nothing(
        self, supervisor: Supervisor, address: Address
    ) -> None:
        started(supervisor, "service", "http", address)
        acquire(address, lease=60_000)

        status, _ = ask(address, "/release", resource_id="r0", owner="0-1", lock_token="a guess")

        assert status == 409
        assert not acquire(address, owner="0-2")["lock_acquired"]


def wait_until_listening_again(supervisor: Supervisor) -> None:
    """Wait for the restarted service; its log continues that of the last process."""
    deadline = time.monotonic() + PATIENCE
    while supervisor.children[-1].read_log().count("listening on") < 2:
        supervisor.children[-1].check()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    wait_until_listening(supervisor.children[-1])


def granted_at_last(address: Address) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (answered := acquire(address, owner="1-1"))["lock_acquired"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return answered


def run(tmp_path: Path, name: str, url: str, *settings: str) -> CompletedProcess[str]:
    """Run a target of the example against a service at another address, until it was challenged."""
    target = EXAMPLE / f"{name}.toml"
    return run_until_challenged(
        lambda duration: run_target(tmp_path, target, *at(url), duration, *settings), seconds=6
    )


def run_refused(tmp_path: Path, url: str, *settings: str) -> CompletedProcess[str]:
    return refused(tmp_path, *run_words(EXAMPLE / "http.toml", *at(url), *settings))


def at(url: str) -> tuple[str, ...]:
    return (f"lock.url={url}", f"storage.url={url}")


class TestRun:
    @pytest.mark.parametrize(
        ("name", "options", "verdict"),
        [
            pytest.param("http", ("--policy", "strict"), "valid", marks=pytest.mark.slow),
            pytest.param("http-unfenced", ("--no-fence",), "invalid", marks=pytest.mark.slow),
        ],
    )
    def test_the_targets_of_the_example_find_what_they_expect(
        self,
        supervisor: Supervisor,
        address: Address,
        tmp_path: Path,
        name: str,
        options: tuple[str, ...],
        verdict: str,
    ) -> None:
        started(supervisor, "service", "http", address, *options)

        done = run(tmp_path, name, f"http://{address}")

        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["verdict"] == verdict
        assert document["coverage"]["stale_writes_attempted"] >= 1
        assert {"committed", "observed"} == {each["evidence"] for each in document["checkers"]}

    @pytest.mark.nightly
    def test_two_runs_of_one_service_are_independent(
        self, supervisor: Supervisor, address: Address, tmp_path: Path
    ) -> None:
        started(supervisor, "service", "http", address, "--policy", "strict")
        run(tmp_path, "http", f"http://{address}")
        supervisor.children[0].kill()
        supervisor.restart(supervisor.children[0])
        wait_until_listening_again(supervisor)

        done = run(tmp_path, "http", f"http://{address}")

        assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "valid"), done.stderr

    @pytest.mark.parametrize("side", ["lock", "storage"])
    def test_an_address_that_refuses_ends_the_run_before_any_client_starts(
        self, supervisor: Supervisor, address: Address, tmp_path: Path, side: str
    ) -> None:
        started(supervisor, "service", "http", address)

        done = run_refused(tmp_path, f"http://{address}", f"{side}.url=http://127.0.0.1:1")

        assert (done.returncode, done.stdout) == (3, "")
        said = done.stderr.splitlines()
        assert len(said) == 1
        assert f"nothing answers at {side}.url http://127.0.0.1:1: " in said[0]
        assert "start the service first" in said[0]
        assert not (tmp_path / "runs").exists()

    @pytest.mark.slow
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
    def test_an_invalid_address_is_refused_with_an_example(self, tmp_path: Path, url: str, side: str) -> None:
        done = run_refused(tmp_path, "http://127.0.0.1:1", f'{side}.url="{url}"')

        assert done.returncode == 4
        shown = url.replace("me:secret@", "me:***@")
        assert f'{side}.url = "{shown}": must be such as "http://127.0.0.1:8420"' in done.stderr

    def test_no_client_can_be_cut_off_from_a_service_that_is_not_started(self, tmp_path: Path) -> None:
        (tmp_path / "cut.toml").write_text(
            (EXAMPLE / "http.toml").read_text()
            + '\n[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "2s"\n'
        )
        done = fencepost(tmp_path, "validate", "cut.toml")

        assert done.returncode == 4
        assert 'no client can be cut off from lock.kind "http"' in done.stderr
