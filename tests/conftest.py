"""Engines for the tests: real ones. Where one is missing, its tests skip, or fail where CI asks for it."""

from __future__ import annotations

import contextlib
import secrets
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from differential import compared, disagreed
from hypothesis import HealthCheck, Phase, settings
from missing import miss
from scripts import ScriptEngine
from support.recorded_runs import unpack

from harness.engines import Cluster, Engine, ServerSpec, Topology, local_toxiproxy
from harness.engines.docker import DockerEngine, unavailability
from harness.engines.docker_images import provide_before_any_run
from harness.engines.local import LocalEngine
from harness.engines.our_images import image_of, our_images
from harness.errors import EngineUnavailableError, InfrastructureError

# For mutation testing: that an example fails is enough, and each time the same ones.
settings.register_profile(
    "mutants",
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


ENGINES = {"docker_engine", "local_engine"}
unfit_docker = pytest.StashKey[str]()  # why the Docker engine that answers is of no use


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs an engine or a browser by the fixtures it asks for."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & ENGINES:
            item.add_marker("engine")
        if "browser" in fixtures:
            item.add_marker("browser")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make what takes minutes on a new machine before the tests, each of which has two."""
    needed = any(item.get_closest_marker("engine") for item in session.items)
    if not needed or session.config.option.collectonly:
        return
    tell = session.config.get_terminal_writer().line
    try:
        if unavailability() is None:
            provide_before_any_run([image_of("", name) for name in our_images()], tell)
    except InfrastructureError as error:
        session.config.stash[unfit_docker] = f"Docker cannot build our images: {error}"
    with contextlib.suppress(EngineUnavailableError):  # its tests say so themselves
        local_toxiproxy.provide(tell)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skip a test whose servers this machine cannot run, for the reason that the engine gives."""
    try:
        yield
    except EngineUnavailableError as error:
        miss(str(error))


@pytest.fixture(scope="session", autouse=True)
def _own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the notes of test runs apart from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _hear_ctrl_c() -> None:
    """A shell starts what runs in its background deaf to SIGINT, and children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def docker_engine(pytestconfig: pytest.Config) -> Engine:
    why_not = unavailability() or pytestconfig.stash.get(unfit_docker, None)
    if why_not is not None:
        miss(why_not)
    return DockerEngine()


@pytest.fixture(scope="session")
def local_engine() -> Engine:
    why_not = LocalEngine().refusal(topology())
    if why_not is not None:
        miss(why_not)
    return LocalEngine()


@pytest.fixture(scope="session")
def script_engine() -> ScriptEngine:
    return ScriptEngine()


@pytest.fixture(scope="module")
def servers(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One etcd and one PostgreSQL of the local engine; Toxiproxy need not be there."""
    with local_engine.start(
        topology(clients=1), new_run_id(), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def local_cluster(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with local_engine.start(
        topology(partitions=True), new_run_id(), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def docker_cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with docker_engine.start(
        topology(partitions=True), new_run_id(), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["local", "docker"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of each engine, with proxies."""
    found: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    return found


@pytest.fixture
def recorded_run(tmp_path: Path) -> Callable[[str], Path]:
    """Unpack a recorded run, such as that of an exhibit of the zoo, and give its folder."""
    return lambda name: unpack(name, tmp_path)


@pytest.fixture
def run_id() -> str:
    return new_run_id()


@pytest.fixture
def make_topology() -> Callable[..., Topology]:
    return topology


def topology(etcd: int = 1, clients: int = 2, *, partitions: bool = False) -> Topology:
    """etcd with so many members, and a PostgreSQL."""
    members = [ServerSpec(name=f"etcd-{number + 1}", system="etcd") for number in range(etcd)]
    servers = (*members, ServerSpec(name="postgres", system="postgres"))
    return Topology(servers=servers, clients=clients, partitions=partitions)


def new_run_id() -> str:
    return f"test-{secrets.token_hex(4)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many small histories were judged in several ways."""
    if compared:
        terminalreporter.write_line(
            f"{sum(compared.values()):,} small histories were judged in several ways, {disagreed.total()} differently"
        )
