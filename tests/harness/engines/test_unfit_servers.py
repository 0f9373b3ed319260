"""Servers that can never become usable: refused immediately, in one sentence."""

import io
import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from harness.core.errors import ServerNotReadyError
from harness.engines import readiness
from harness.engines.built_images import our_image
from harness.engines.docker_images import provide
from harness.engines.engine import Engine
from harness.engines.readiness import is_ready
from harness.network import redis_server
from harness.network.systems import SYSTEMS, TIMEOUT
from harness.network.topology import Address, ServerSpec, Topology
from harness.network.unfit import Unfit
from harness.processes.supervisor import Supervisor
from tests.support.http_servers import at_port, listening
from tests.support.missing import need
from tests.support.selection import nightly
from tests.support.systems import run_named

LOCAL = ("etcd", "postgres", "redis")
ALIKE = ("pgbouncer", "postgres")  # one protocol
AT_ONCE = 30  # seconds, including creating and removing containers; waiting for a server takes 120


def one(system: str, image: None = None) -> Topology:
    return Topology(
        servers=(ServerSpec(name=f"{system}-1", system=system, image=image),), clients=1, partitions=False
    )


def confused(system: str, other: str) -> object:
    """Parameters of each system that meets one other; the other pairs are for the night."""
    quick = other == "postgres" or (system, other) in {("postgres", "etcd"), ("etcd", "redis")}
    return pytest.param(system, other, marks=[] if quick else pytest.mark.nightly)


@pytest.fixture(scope="module")
def addresses(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Address]]:
    """The address of a server of each of these systems."""
    servers = tuple(ServerSpec(name=f"{system}-1", system=system) for system in LOCAL)
    topology = Topology(servers=servers, clients=1, partitions=False)
    folder = tmp_path_factory.mktemp("run")
    with local_engine.start(topology, run_named("unfit"), folder, print) as cluster:
        yield {server.system: server.address for server in cluster.servers}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "other"),
    [confused(*pair) for pair in itertools.product(SYSTEMS, LOCAL) if pair[0] != pair[1] and pair != ALIKE],
)
def test_a_server_of_another_system_is_recognized_by_its_answer(
    addresses: dict[str, Address], monkeypatch: pytest.MonkeyPatch, system: str, other: str
) -> None:
    monkeypatch.setattr(readiness, "PATIENCE", 1.0)  # its silence needs no longer to be seen
    with pytest.raises(Unfit, match=f'cannot be used as {system}: it answers ".+"'):
        is_ready(system, addresses[other])


@pytest.mark.parametrize("system", LOCAL)
def test_a_server_of_the_right_system_is_ready(addresses: dict[str, Address], system: str) -> None:
    assert is_ready(system, addresses[system])


def test_a_server_that_does_not_answer_is_not_ready_yet() -> None:
    assert not any(is_ready(system, Address("127.0.0.1", 1)) for system in SYSTEMS)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["redis", *nightly("etcd", "postgres")])
def test_a_server_that_is_too_old_is_refused(
    local_engine: Engine, run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    need(local_engine, one(system))
    version = {"etcd": r"3\.5\.\d+", "postgres": r"18\.\d+.*", "redis": r"6\.2\.\d+"}[system]
    monkeypatch.setitem(SYSTEMS, system, replace(SYSTEMS[system], oldest=(99, 1)))

    with (
        pytest.raises(ServerNotReadyError) as raised,
        local_engine.start(one(system), run_id, tmp_path, print),
    ):
        pytest.fail("it counted as usable")

    said = f"{system}-1 is {system} {version}, but Fencepost needs 99.1 or newer; its last log lines"
    assert raised.match(said)


REFUSES_THE_USER = """
FROM {postgres}
RUN echo "local all all trust\\nhost all all all reject" > "$PGDATA/pg_hba.conf"
"""
WANTS_A_LOGIN = """
FROM {redis}
ENTRYPOINT ["sh", "-c", "exec \\"$@\\" --requirepass secret", "--"]
"""
IS_ANOTHER = """
FROM {etcd}
ENV ETCD_LISTEN_CLIENT_URLS=http://0.0.0.0:6379 ETCD_ADVERTISE_CLIENT_URLS=http://127.0.0.1:6379
ENTRYPOINT ["sh", "-c", "exec etcd", "--"]
"""
HAS_NOT_THE_PROGRAM = """
FROM {etcd}
ENV NOTHING=added
"""


@pytest.fixture
def build(docker_engine: Engine, run_id: str, tmp_path: Path) -> Iterator[Any]:  # noqa: ARG001 - skips where there is no engine
    """Build an image on one of ours; all are removed at the end."""
    built = []
    supervisor = Supervisor(tmp_path / "supervisor", tmp_path / "logs", dict(os.environ))
    supervisor.make()
    with closing(docker.from_env()) as client, closing(supervisor):

        def build_one(dockerfile: Any) -> str | None:
            ours = {system: our_image(system) for system in LOCAL}
            provide(
                client, [ours[system] for system in LOCAL if f"{{{system}}}" in dockerfile], supervisor, print
            )
            text = dockerfile.format(**ours).encode()
            image, _ = client.images.build(fileobj=io.BytesIO(text), rm=True, labels={"fencepost": run_id})
            built.append(image.id)
            return image.id

        yield build_one
        for image in built:
            client.images.remove(image, force=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dockerfile", "said"),
    [
        pytest.param(
            "postgres",
            REFUSES_THE_USER,
            r"postgres refuses user fencepost: FATAL:  pg_hba\.conf rejects",
            id="refuses-the-user",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "redis-1",
            WANTS_A_LOGIN,
            r'redis-1 cannot be used as redis: it answers "-NOAUTH Authentication',
            id="wants-a-login",
        ),
        pytest.param(
            "redis-1",
            IS_ANOTHER,
            r'redis-1 cannot be used as redis: it answers "HTTP/1\.\d ',
            id="is-another",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "redis-1",
            HAS_NOT_THE_PROGRAM,
            r'"redis-server": executable file not found',
            id="has-not-the-program",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_an_unfit_image_fails_fast(
    docker_engine: Engine, build: Any, tmp_path: Path, name: str, dockerfile: str, said: str
) -> None:
    server = ServerSpec(name=name, system=name.removesuffix("-1"), image=build(dockerfile))
    topology = Topology(servers=(server,), clients=1, partitions=False)
    started = time.monotonic()

    with (
        pytest.raises(ServerNotReadyError, match=said),
        docker_engine.start(topology, run_named("unfit-image"), tmp_path / "run", print),
    ):
        pytest.fail("it counted as usable")

    assert time.monotonic() - started < AT_ONCE
    assert {f"{name}.log", "toxiproxy.log"} <= {log.name for log in (tmp_path / "run" / "logs").iterdir()}


@contextmanager
def saying(said: bytes) -> Iterator[Address]:
    """Yield the address of a server that repeats these bytes to every client."""

    def flood(connection: Any) -> None:
        with connection, suppress(OSError):
            while True:
                connection.sendall(said)

    with listening(flood) as at:
        yield at_port(at)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_server_that_never_stops_sending_is_unfit(system: str) -> None:
    with saying(b"x" * 2**16) as address, pytest.raises(Unfit, match=f"cannot be used as {system}"):
        is_ready(system, address)


@contextmanager
def slowly_serving_http(before: float, within: float) -> Iterator[Address]:
    """Yield the address of a server that refuses bad requests at once, and answers good ones late.

    It waits before the answer, and within it.
    """
    never = threading.Event()

    def answer(connection: Any) -> None:
        with connection, suppress(OSError):
            if connection.recv(4096).startswith(b"GET "):
                never.wait(before)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                never.wait(within)
                connection.sendall(b'{"__type":"com.amazonaws.dynamodb#MissingAuthenticationToken"}')
            else:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: Jetty\r\n\r\n")

    with listening(answer) as at:
        yield at_port(at)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "within"), [(TIMEOUT + 1, 0.0), (0.0, TIMEOUT + 1)])
def test_a_slow_server_is_not_taken_for_another(before: float, within: float) -> None:
    with slowly_serving_http(before, within) as address:
        is_ready("dynamodb", address)  # or Unfit


@pytest.mark.parametrize("said", [b"+PONG\r\n", b"$99999999999\r\n", b"$-1\r\n", b"-ERR no\r\n", b"$ \r\n"])
def test_nonsense_from_redis_is_not_an_answer(said: bytes) -> None:
    with saying(said) as address, pytest.raises(ConnectionError, match="answered INFO with"):
        redis_server.role(address)


@contextmanager
def restarting_postgres() -> Iterator[Address]:
    """Yield the address of a server that closes each connection, and answers only the second request."""
    requests = itertools.count(1)

    def answer(connection: Any) -> None:
        with connection:
            if connection.recv(4096) == SYSTEMS["postgres"].probe and next(requests) == 2:
                connection.sendall(b"N")

    with listening(answer) as at:
        yield at_port(at)


def test_a_server_that_restarts_is_not_taken_for_another() -> None:
    with restarting_postgres() as address:
        assert not is_ready("postgres", address)
