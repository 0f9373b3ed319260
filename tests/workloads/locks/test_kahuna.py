"""Kahuna: the meaning of its answers, a complete run against its contract, and one on the real image."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import docker.errors
import pytest

from harness.clients.recorder import RecordedSession
from harness.engines.built_images import our_image
from harness.engines.readiness import is_ready
from harness.network.ports import free_addresses
from harness.network.systems import SYSTEMS
from harness.network.topology import Address
from harness.network.unfit import Unfit
from harness.processes.supervisor import Supervisor
from harness.spec import load
from tests.support.challenged import ATTEMPTED, Condition, counted, run_until_challenged
from tests.support.command import run_target
from tests.support.repository import ROOT
from tests.support.scripts import started
from tests.support.systems import TTL, Memory, lock_clients
from tests.support.tap import Tap
from tests.support.waiting import wait_for
from workloads.client import NotApplied, Unknown
from workloads.http_connection import HttpConnection
from workloads.locks import connect
from workloads.locks.kahuna import KahunaLockService

IMAGE = "kahunakv/kahuna:latest"
STAND_IN = "kahuna-of-the-tests:latest"
DOCKERFILE = """\
ARG BASE
FROM $BASE
USER root
COPY kahuna_server.py /
CMD ["python3", "/kahuna_server.py", "--host", "0.0.0.0"]
"""
IN_DOUBT = [10, 99, 101, 104, 7]


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    folder = tmp_path_factory.mktemp("kahuna")
    made = Supervisor(folder / "servers", folder / "logs", {})
    made.make()
    yield made
    made.close()


@pytest.fixture(scope="module")
def address(supervisor: Supervisor) -> Address:
    return started(supervisor, "kahuna", "kahuna", free_addresses(1)[0]).address


@pytest.fixture
def service(address: Address) -> Iterator[Any]:
    with closing(HttpConnection(str(address), 5)) as connection:
        yield KahunaLockService(connection, TTL)


@pytest.fixture
def open_lock(address: Address) -> Iterator[Any]:
    with lock_clients() as open_one:
        yield lambda client=0: open_one("kahuna", [str(address)], client)[0]


def test_the_first_token_of_a_resource_is_0(open_lock: Any) -> None:
    lock = open_lock()

    tokens = []
    for hold in range(3):
        tokens.append(lock.acquire("first", f"0-{hold}").token)
        lock.release("first", f"0-{hold}")

    assert tokens == [0, 1, 2]


@pytest.mark.parametrize(("durability", "sent"), [("persistent", 1), ("ephemeral", 0)])
def test_every_request_says_how_durable_the_lock_is(address: Address, durability: str, sent: int) -> None:
    section = load("kahuna-postgres", (f"lock.durability={durability}",)).lock
    with closing(Tap("kahuna", [str(address)])) as tap:
        shared = {"kind": "kahuna", "endpoints": tap.endpoints, "timeout": 5, "client": 0, "token": ""}
        settings = section.settings(**shared, ttl=TTL)
        with closing(connect(settings, RecordedSession(Memory(), 0, 1))) as lock:
            lock.acquire(f"durable/{durability}", "0-1")
            wait_for(lambda: len(tap.requests) > 1)  # a renewal
            lock.release(f"durable/{durability}", "0-1")

    assert {json.loads(body)["durability"] for _, body in tap.requests} == {sent}


def test_an_owner_that_acquires_again_gets_the_same_token(service: Any) -> None:
    held = service.try_lock("again", "0-1")

    assert service.try_lock("again", "0-1") == held
    assert service.try_lock("again", "0-2") is None


def test_a_client_that_is_not_the_owner_frees_nothing(open_lock: Any) -> None:
    first, second = open_lock(0), open_lock(1)
    first.acquire("freed", "0-1")

    with pytest.raises(NotApplied, match="0-2 is not the holder"):
        second.release("freed", "0-2")
    second.revoke("freed", "0-2")
    first.release("freed", "0-1")
    with pytest.raises(NotApplied, match="0-1 is not the holder"):
        first.release("freed", "0-1")


def test_a_lost_lease_is_not_renewed(service: Any) -> None:
    with pytest.raises(NotApplied, match="does not exist"):
        service.renew("lost", "0-1", "0-1")
    service.try_lock("lost", "0-2")
    with pytest.raises(NotApplied, match="another owner"):
        service.renew("lost", "0-1", "0-1")


@pytest.mark.parametrize("said", IN_DOUBT)
def test_an_unknown_answer_of_kahuna_is_unknown_to_the_client(service: Any, said: int) -> None:
    resource = f"doubt/type-{said}"

    with pytest.raises(Unknown, match=f"type {said}"):
        service.try_lock(resource, "0-1")
    with pytest.raises(Unknown, match=f"type {said}"):
        service.renew(resource, "0-1", "0-1")
    with pytest.raises(Unknown, match=f"type {said}"):
        service.release(resource, "0-1", "0-1")


def test_invalid_input_to_kahuna_applies_nothing(service: Any) -> None:
    for ask in (
        service.try_lock,
        lambda *what: service.renew(*what, ""),
        lambda *what: service.release(*what, ""),
    ):
        with pytest.raises(NotApplied, match="invalid input"):
            ask("wrong/type-100", "0-1")


@pytest.mark.parametrize("said", [1, 2, 3, 4])
def test_an_answer_to_another_request_is_unknown(service: Any, said: int) -> None:
    """After type 1, busy, a release or a renewal has certainly done nothing."""
    resource = f"odd/type-{said}"
    asks: tuple[tuple[int, Callable[[], object]], ...] = (
        (1, lambda: service.try_lock(resource, "0-1")),
        (2, lambda: service.renew(resource, "0-1", "0-1")),
        (3, lambda: service.release(resource, "0-1", "0-1")),
    )
    for done, ask in asks:
        if said in {1, done}:
            continue
        with pytest.raises(Unknown, match=f"type {said}"):
            ask()


def test_it_is_ready_once_it_answers_about_a_lock(address: Address) -> None:
    assert is_ready("kahuna", address)
    assert SYSTEMS["kahuna"].version(address) == "Kahuna on Kestrel"


def test_a_kahuna_that_is_too_old_is_refused(supervisor: Supervisor) -> None:
    old = started(supervisor, "old", "kahuna", free_addresses(1)[0], "--old").address

    with pytest.raises(Unfit, match=r"Kahuna 1\.1 or newer"):
        is_ready("kahuna", old)


def run(tmp_path: Path, target: str, *settings: str, was_challenged: Condition = ATTEMPTED) -> Any:
    return run_until_challenged(
        lambda duration: run_target(tmp_path, target, duration, *settings, engine="docker"),
        10,
        was_challenged,
    )


def first_tokens(tmp_path: Path, target: str) -> dict[tuple[Any, Any], Any]:
    """Return the lowest granted token and the lowest accepted one, by resource."""
    history = tmp_path / "runs" / target / "latest" / "history.jsonl"
    events = [json.loads(line) for line in history.read_text().splitlines()[1:]]
    done = [event for event in events if event["type"] == "ok" and "token" in event]
    return {
        (event["f"], event["resource"]): min(
            each["token"] for each in done if (each["f"], each["resource"]) == (event["f"], event["resource"])
        )
        for event in done
        if event["f"] in {"acquire", "write"}
    }


def judged(done: Any, tmp_path: Path, target: str, verdict: str) -> Any:
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"], document["as_expected"]) == (verdict, True)
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert document["anomalies"]["false-rejection"] == 0
    assert min(first_tokens(tmp_path, target).values()) == 0
    return document


@pytest.fixture(scope="module")
def stand_in(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image with the tests' own server, on one of ours that has Python."""
    request.getfixturevalue("docker_engine")
    folder = tmp_path_factory.mktemp("image")
    (folder / "Dockerfile").write_text(DOCKERFILE)
    (folder / "kahuna_server.py").write_text((ROOT / "tests/support/kahuna_server.py").read_text())
    base = f"--build-arg=BASE={our_image('patroni')}"
    subprocess.run(["docker", "build", "--quiet", base, "--tag", STAND_IN, folder], check=True, timeout=600)
    return STAND_IN


TARGETS = [("kahuna-postgres", "valid"), ("kahuna-postgres-unfenced", "invalid")]


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.timeout(900)
def test_a_whole_run_without_a_fence_finds_a_stale_write(stand_in: str, tmp_path: Path) -> None:
    target = "kahuna-postgres-unfenced"

    done = run(tmp_path, target, f"lock.image={stand_in}")

    judged(done, tmp_path, target, "invalid")
    environment = json.loads((tmp_path / "runs" / target / "latest" / "environment.json").read_text())
    assert environment["servers"]["kahuna-1"] == {"system": "kahuna", "version": "Kahuna on Kestrel"}


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.timeout(900)
def test_a_fence_holds_while_clients_are_paused_or_cut_off_from_it(stand_in: str, tmp_path: Path) -> None:
    (tmp_path / "cut.toml").write_text(
        (ROOT / "targets/kahuna-postgres.toml")
        .read_text()
        .replace('name = "kahuna-postgres"', 'name = "cut"')
        + '\n[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "5s"\nlasts = "2s"\n'
    )

    done = run(
        tmp_path,
        "cut.toml",
        f"lock.image={stand_in}",
        was_challenged=counted("stale_writes_attempted", "partitions"),
    )

    assert judged(done, tmp_path, "cut", "valid")["coverage"]["partitions"] >= 1


@pytest.fixture(scope="module")
def real_image(request: pytest.FixtureRequest) -> None:
    """Kahuna's own image, if it exists here or can be pulled."""
    request.getfixturevalue("docker_engine")
    with closing(docker.from_env(timeout=600)) as client:
        try:
            client.images.get(IMAGE)
        except docker.errors.ImageNotFound:
            try:
                client.images.pull(IMAGE)
            except docker.errors.APIError as error:
                pytest.skip(f"{IMAGE} cannot be pulled: {error.explanation}")


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("real_image")
@pytest.mark.parametrize(("target", "verdict"), TARGETS)
def test_a_whole_run_on_the_real_image_finds_what_it_expects(
    tmp_path: Path, target: str, verdict: str
) -> None:
    judged(run(tmp_path, target), tmp_path, target, verdict)
