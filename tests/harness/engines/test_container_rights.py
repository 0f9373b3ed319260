"""What containers may do and use: nothing beyond their own user, and no more memory than they may."""

import io
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import docker
import pytest
import redis
import yaml

from harness.core.errors import ServerNotReadyError
from harness.engines.built_images import our_image
from harness.engines.docker import DockerCluster, DockerEngine
from harness.engines.docker_compose import TOXIPROXY
from harness.engines.docker_containers import containers_of
from harness.engines.docker_images import provide_before_any_run
from harness.engines.engine import Engine
from harness.network.systems import SYSTEMS
from harness.network.topology import Address, ServerSpec, Topology
from tests.support.command import DEADLINE, start
from tests.support.selection import nightly
from tests.support.systems import run_named
from tests.support.waiting import PATIENCE, wait_for

AS_OFFICIAL = {
    "mariadb": "find /var/lib/mysql ! -user mysql -exec chown mysql {} +; "
    'exec setpriv --reuid mysql --regid mysql --init-groups "$@"',
    "postgres": "mkdir -p $PGDATA; chmod 700 $PGDATA; find $PGDATA ! -user postgres -exec chown postgres {} +; "
    'exec setpriv --reuid postgres --regid postgres --init-groups "$@"',
    "redis": "umask 077; find . ! -user redis -exec chown redis {} +; exec setpriv --reuid redis --regid redis "
    '--clear-groups --nnp --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"',
    "zookeeper": "chown -R nobody /data /conf; "
    "exec setpriv --reuid nobody --regid nogroup --init-groups zookeeper",
}
"""How the official images, which start as root, give up their rights, each by its docker-entrypoint.sh."""
FOREIGN_DATA = {
    "mariadb": "touch /var/lib/mysql/of-root",
    "postgres": "touch $PGDATA/of-root",
    "redis": "touch /data/of-root",
    "zookeeper": "touch /data/of-root",
}


@pytest.fixture
def build(docker_engine: Engine) -> Iterator[Any]:  # noqa: ARG001 (without one, the test is skipped)
    """Build an image that starts as root and becomes another user, like the official one of a system."""
    built: list[str] = []
    with closing(docker.from_env()) as client:

        def build_one(system: str) -> str:
            provide_before_any_run([our_image(system)], print)
            words = (
                f'FROM {our_image(system)}\nUSER root\nRUN {FOREIGN_DATA[system]}\nENTRYPOINT ["sh", "-euc", '
            )
            script = AS_OFFICIAL[system].replace('"', '\\"')
            image, _ = client.images.build(
                fileobj=io.BytesIO(f'{words}"{script}", "sh"]\n'.encode()), rm=True
            )
            built.append(str(image.id))
            return str(image.id)

        yield build_one
        for image in built:
            client.images.remove(image, force=True)


def rights(client: Any, run_id: str) -> dict[str, tuple[str, str]]:
    """Of each container's first process: its effective capabilities, and whether it may gain none."""
    found = {}
    for name, container in containers_of(client, run_id).items():
        pid = client.api.inspect_container(container.id)["State"]["Pid"]
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
        )
        found[name] = (fields["CapEff"].strip(), fields["NoNewPrivs"].strip())
    return found


def use(engine: Engine, client: Any, spec: ServerSpec, run_id: str, folder: Path) -> list[dict[str, Any]]:
    """Start, pause and kill a server; return the rights before the kill and after the restart."""
    topology = Topology(servers=(spec,), clients=1, partitions=False, killed=(spec.name,))
    with engine.start(topology, run_id, folder, print) as cluster:
        seen = [rights(client, run_id)]
        cluster.pause([spec.name])
        cluster.resume([spec.name])
        cluster.kill([spec.name])
        cluster.restart([spec.name])
        return [*seen, rights(client, run_id)]


@pytest.mark.slow
@pytest.mark.parametrize("system", ["redis", *nightly("postgres", "etcd", "zookeeper", "dynamodb", "s3")])
def test_our_servers_have_no_capabilities(
    docker_engine: Engine, client: Any, run_id: str, tmp_path: Path, system: str
) -> None:
    spec = ServerSpec(name=f"{system}-1", system=system, cluster="lock")

    for seen in use(docker_engine, client, spec, run_id, tmp_path):
        assert set(seen) == {spec.name, TOXIPROXY}
        assert set(seen.values()) == {("0" * 16, "1")}


@pytest.mark.slow
@pytest.mark.parametrize("system", ["postgres", *nightly("mariadb", "redis", "zookeeper")])
def test_an_image_that_starts_as_root_becomes_another_user(
    docker_engine: Engine, client: Any, build: Any, run_id: str, tmp_path: Path, system: str
) -> None:
    spec = ServerSpec(name=f"{system}-1", system=system, cluster="lock", image=build(system))

    for seen in use(docker_engine, client, spec, run_id, tmp_path):
        assert seen[spec.name] == ("0" * 16, "1")


COMPOSE = sorted((Path(__file__).parents[3] / "compose").glob("*.yaml"))
BECOMES_ANOTHER_USER = {"mariadb", "postgres", "redis", "sentinel", "zookeeper"}
"""The official images of these start as root."""
HARMLESS = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETPCAP", "SETUID"}

SERVICES = [
    pytest.param(file.stem, service, id=f"{file.stem}: {name}")
    for file in COMPOSE
    for name, service in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items()
]


def test_every_compose_file_has_services() -> None:
    assert len(COMPOSE) >= 10
    assert len(SERVICES) >= len(COMPOSE)


@pytest.mark.parametrize(("system", "service"), SERVICES)
def test_a_service_gets_only_the_capabilities_that_it_needs(system: str, service: dict[str, Any]) -> None:
    added = set(service.get("cap_add", ()))

    assert service["cap_drop"] == ["ALL"]
    assert added <= (HARMLESS if system in BECOMES_ANOTHER_USER else set())
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")


@pytest.mark.parametrize(("system", "service"), SERVICES)
def test_a_service_has_a_memory_limit_that_swap_does_not_lift(system: str, service: dict[str, Any]) -> None:
    assert system
    assert 0 < service["mem_limit"] <= 2 * 10**9
    assert service["memswap_limit"] == service["mem_limit"]


@pytest.mark.parametrize(("system", "service"), SERVICES)
def test_a_service_shares_nothing_with_the_machine(system: str, service: dict[str, Any]) -> None:
    assert system
    assert not {"devices", "ipc", "network_mode", "pid", "userns_mode", "volumes_from"} & set(service)
    assert not [each for each in service.get("volumes", ()) if str(each).startswith((".", "/", "~"))]


LIMIT = 24_000_000  # bytes
NAMED = (
    "redis-1 was killed by the kernel because it used more than its memory limit of 24MB "
    '(raise it with memory = "…" in its section of the target)'
)
PERHAPS = (
    "redis-1 was killed (status 137). Docker does not say by whom: perhaps by you, or by the kernel because "
    'it used more than its memory limit of 24MB (raise it with memory = "…" in its section of the target)'
)
TARGET = """
name = "small"
expect = "valid"
[lock]
kind = "redis"
memory = "24MB"
[storage]
kind = "sqlite"
fencing = "conditional-update"
[workload]
duration = "600s"
"""


def fill(at: Address) -> None:
    """Store in Redis until it has ended."""
    connected = closing(redis.Redis(at.host, at.port, socket_timeout=PATIENCE))
    with connected as client, suppress(redis.RedisError):
        for number in range(100):
            client.set(f"filling-{number}", bytes(1_000_000))


def kill(cluster: DockerCluster) -> None:
    """Kill Redis as another program would."""
    redis_1 = containers_of(cluster.client, cluster.run_id)["redis-1"]
    cluster.client.api.kill(redis_1.id)


@pytest.fixture(scope="module", params=["out of memory", "killed by others"])
def ended(
    docker_engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[DockerCluster, tuple[str, ...]]]:
    """A Redis that has ended, and how that may be said: the kernel's report may not reach Docker."""
    spec = ServerSpec(name="redis-1", system="redis", cluster="lock", memory=LIMIT)
    topology = Topology(servers=(spec,), clients=1, partitions=False)
    folder = tmp_path_factory.mktemp("run")
    with docker_engine.start(topology, run_named("memory"), folder, print) as cluster:
        cluster.check()
        if request.param == "killed by others":
            kill(cluster)
            yield cluster, (PERHAPS,)
        else:
            fill(cluster.servers[0].address)
            yield cluster, (NAMED, PERHAPS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [
        lambda cluster: cluster.check(),
        lambda cluster: cluster.kill(["redis-1"]),
        lambda cluster: cluster.pause(["redis-1"]),
        lambda cluster: cluster.resume(["redis-1"]),
    ],
    ids=["check", "kill", "pause", "resume"],
)
def test_a_server_that_used_too_much_memory_is_named(
    ended: tuple[DockerCluster, tuple[str, ...]], act: Callable[[Any], None]
) -> None:
    cluster, said = ended

    with pytest.raises(ServerNotReadyError) as raised:
        act(cluster)

    assert str(raised.value).startswith(said)


@pytest.mark.slow
def test_a_run_in_which_it_happens_is_a_failure(docker_engine: Engine, client: Any, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TARGET)
    process = start("run", "small.toml", "--engine", docker_engine.name, cwd=tmp_path)
    folder = tmp_path / "runs" / "small" / "latest"
    assert wait_for((folder / "plan.json").exists, 2 * PATIENCE)
    redis_1 = containers_of(client, folder.resolve().name)["redis-1"]
    fill(redis_1.published(SYSTEMS["redis"].port))

    _, said = process.communicate(timeout=DEADLINE)

    assert process.returncode == 3
    assert any(f"infrastructure failure: {words}" in said for words in (NAMED, PERHAPS))
    assert not (folder / "verdict.json").exists()
