"""Engines for the tests: real ones. Where one is missing, its tests skip, or fail where CI asks for it."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import secrets
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from playwright.sync_api import Browser

from harness.core.errors import EngineUnavailableError, InfrastructureError
from harness.engines import local_toxiproxy
from harness.engines.built_images import image_of, our_images
from harness.engines.docker import DockerEngine, unavailability
from harness.engines.docker_images import provide_before_any_run
from harness.engines.engine import Cluster, Engine
from harness.engines.local import LocalEngine
from harness.network.topology import ServerSpec, Topology
from tests.support import selection
from tests.support.chromium import chromium
from tests.support.differential import compared, disagreed
from tests.support.missing import miss
from tests.support.recorded_runs import unpack
from tests.support.scripts import ScriptEngine
from tests.support.systems import OLD_ETCD

settings.register_profile(
    "unhurried",
    max_examples=selection.examples(settings.default.max_examples),
    deadline=None,  # no test judges how fast the machine is
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unhurried")

# For mutation testing: that an example fails is enough, and each time the same ones.
settings.register_profile(
    "mutants",
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

unfit_docker = pytest.StashKey[str]()  # why the Docker engine that answers is of no use


def pytest_configure(config: pytest.Config) -> None:
    """Leave out slow tests unless some are asked for."""
    selection.leave_out_slow_tests(config)


def pytest_report_header(config: pytest.Config) -> str:
    """Say so."""
    if config.option.markexpr == selection.QUICK:
        return "slow tests are left out: `make test-all`, or name a file or a test, or `-m slow`"
    return ""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without searches for garbage: ten thousand tests are kept, and each search would visit them all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures that they ask for, and put them in order."""
    for item in items:
        selection.mark(item)
    selection.longest_first(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make what takes minutes on a new machine before the tests, each of which has two."""
    needed = any(item.get_closest_marker("engine") for item in session.items)
    images = [image_of("", name) for name in our_images()]
    if any(item.get_closest_marker("nightly") for item in session.items):
        images.append(image_of("etcd", None, OLD_ETCD))
    if not needed or session.config.option.collectonly:
        return
    with _one_process_at_a_time():
        try:
            if unavailability() is None:
                provide_before_any_run(images, _to_stderr)
        except InfrastructureError as error:
            session.config.stash[unfit_docker] = f"Docker cannot build our images: {error}"
        with contextlib.suppress(EngineUnavailableError):  # its tests say so themselves
            local_toxiproxy.provide(_to_stderr)


@contextlib.contextmanager
def _one_process_at_a_time() -> Iterator[None]:
    """The first of pytest-xdist's workers builds; the others wait, and find everything built."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _to_stderr(line: str) -> None:
    """The stdout of pytest-xdist's workers goes nowhere."""
    sys.stderr.write(f"{line}\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skip a test whose servers this machine cannot run, for the reason that the engine gives."""
    with _skipped_without_servers():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip it also if it starts them itself."""
    with _skipped_without_servers():
        yield


@contextlib.contextmanager
def _skipped_without_servers() -> Iterator[None]:
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
    if refusal := LocalEngine().refusal(topology()):
        miss(str(refusal))
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


@pytest.fixture(scope="module", params=selection.BOTH_ENGINES)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of each engine, with proxies."""
    found: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The only one: Playwright starts once in a process."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def recorded_run(tmp_path: Path) -> Callable[[str], Path]:
    """Unpack a recorded run, such as that of an exhibit of the zoo, and give its folder."""
    return lambda name: unpack(name, tmp_path)


@pytest.fixture
def cases() -> selection.Cases:
    """How many random cases to draw; a test that asks for it is repeated with all of them in `make test-nightly`."""
    return selection.examples


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


COUNTERS = {"compared": compared, "disagreed": disagreed}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give what a worker of pytest-xdist counted to the process that started it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output.update({name: dict(counter) for name, counter in COUNTERS.items()})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Add what a worker counted; one that died counted nothing."""
    output = getattr(node, "workeroutput", {})
    for name, counter in COUNTERS.items():
        counter.update(Counter(output.get(name, {})))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many small histories were judged in several ways."""
    if compared:
        terminalreporter.write_line(
            f"{sum(compared.values()):,} small histories were judged in several ways, {disagreed.total()} differently"
        )
