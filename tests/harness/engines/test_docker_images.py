"""What only Docker runs: images that are built, tagged and pinned, Hazelcast, and PgBouncer."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from docker.errors import ImageNotFound

from harness.core.errors import ServerNotReadyError
from harness.engines import built_images, docker_images
from harness.engines import built_images as pinned
from harness.engines.built_images import pins
from harness.engines.engine import Cluster, Engine
from harness.nemesis.partition import partition
from harness.network import hazelcast_server
from harness.network.probe import reply
from harness.network.systems import POSTGRES_LOGIN
from harness.network.topology import Address, ServerSpec, Topology
from tests.support.repository import ROOT
from tests.support.systems import OLD_ETCD, postgres_from, run_named
from tests.support.waiting import wait_for


def test_a_build_gets_the_pins_it_declares_and_a_failed_one_its_lines(
    things: Any,
    docker_engine: Engine,
    make_topology: Callable[..., Topology],
    run_id: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dockerfile = tmp_path / "image" / "Dockerfile"
    dockerfile.parent.mkdir()
    dockerfile.write_text(
        "ARG BASE=none\nFROM $BASE\nARG TOXIPROXY=none\nRUN echo it is $TOXIPROXY for ${JAVA_RELEASE:-nobody} >&2; exit 7\n"
    )
    for module in (docker_images, built_images):
        monkeypatch.setattr(module, "folder_of", lambda _image: dockerfile.parent)
    lines: list[Any] = []

    with (
        pytest.raises(
            ServerNotReadyError,
            match=rf"build-\w+ ended with status \d+; .*\n(.*\n)*.*it is {pins()['TOXIPROXY']} for nobody",
        ),
        docker_engine.start(make_topology(), run_id, tmp_path / "run", lines.append),
    ):
        pass

    assert any(line.startswith("building fencepost/etcd:") for line in lines)
    assert things(run_id) == []


def test_a_changed_image_folder_is_another_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dockerfile = tmp_path / "Dockerfile"
    monkeypatch.setattr(built_images, "folder_of", lambda _image: tmp_path)
    dockerfile.write_text("FROM scratch\n")
    before = built_images.our_image("etcd")

    dockerfile.write_text("FROM scratch\nUSER etcd\n")

    assert built_images.our_image("etcd") != before


def test_our_image_without_a_tag_gets_its_current_tag() -> None:
    assert built_images.image_of("etcd", "fencepost/etcd-3.4") == built_images.our_image("etcd-3.4")
    assert built_images.image_of("etcd", None) == built_images.our_image("etcd")
    for chosen in ("fencepost/etcd:3.5", "quay.io/coreos/etcd"):
        assert built_images.image_of("etcd", chosen) == chosen


def test_each_release_is_another_image() -> None:
    image = built_images.image_of("etcd", None, "3.6.7")

    assert built_images.release_of(image) == "3.6.7"
    assert image != built_images.image_of("etcd", None, "3.6.10")
    assert built_images.release_of(built_images.our_image("etcd")) == ""


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("system", "release", "version"), [("etcd", OLD_ETCD, OLD_ETCD), ("s3", "1.8.0", "S3 on VERSITYGW")]
)
def test_a_release_is_built_and_runs(
    docker_engine: Engine, run_id: str, tmp_path: Path, system: str, release: str, version: str
) -> None:
    spec = ServerSpec(name=f"{system}-1", system=system, release=release)
    topology = Topology(servers=(spec,), clients=1, partitions=False)

    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        (server,) = cluster.environment()["servers"].values()

    assert server["version"] == version


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (built_images.our_image("etcd"), "compose ended with status"),  # the image lacks the program
        (
            "127.0.0.1:1/none:1",
            "^the image 127.0.0.1:1/none:1 is not on this machine and could not be pulled: (?!Error).*refused$",
        ),
    ],
)
def test_an_unusable_image_is_reported(
    things: Any, docker_engine: Engine, run_id: str, tmp_path: Path, image: str, message: str
) -> None:
    with (
        pytest.raises(ServerNotReadyError, match=message),
        docker_engine.start(postgres_from(image), run_id, tmp_path, print),
    ):
        pass

    assert things(run_id) == []


def test_a_container_that_exits_is_reported_with_its_last_lines(
    things: Any, client: Any, docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    base = docker_images.base_image(client)
    dockerfile = f'FROM {base}\nENTRYPOINT ["sh", "-c", "echo no space left; exit 3"]\n'.encode()
    image, _ = client.images.build(fileobj=io.BytesIO(dockerfile), tag=f"ends-at-once:{run_id}", rm=True)
    try:
        with (
            pytest.raises(ServerNotReadyError, match=r"postgres ended with status 3; .*\n  \| no space left"),
            docker_engine.start(postgres_from(image.tags[0]), run_id, tmp_path, print),
        ):
            pass
    finally:
        client.images.remove(image.id)

    assert things(run_id) == []


FOLDERS = [built_images.folder_of(name) for name in built_images.our_images()]
OUR_OWN = ROOT  # of the image of Fencepost itself
PINNED = "debian:trixie-slim@sha256:" + 64 * "0"


def test_the_base_image_is_pinned_by_its_digest() -> None:
    assert re.fullmatch(r"debian:trixie-slim@sha256:[0-9a-f]{64}", pinned.pins()["BASE"])


@pytest.mark.parametrize("folder", [*FOLDERS, OUR_OWN], ids=lambda folder: folder.name)
def test_a_build_by_hand_uses_the_same_versions(folder: Path) -> None:
    text = (folder / "Dockerfile").read_text()
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
    by_hand = pinned.pins() | {"BASE": pinned.pins()["BASE"].partition("@")[0]}

    assert defaults == {name: by_hand[name] for name in defaults}
    assert "BASE" in defaults
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) <= {"$BASE", "scratch"}


def test_every_pin_is_used() -> None:
    assert {name for folder in FOLDERS for name in pinned.pins_of(folder)} == set(pinned.pins())


def test_another_version_gives_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: built_images.our_image(name) for name in ("toxiproxy", "redis")}
    raised = pinned.pins() | {"TOXIPROXY": "2.13.0"}
    monkeypatch.setattr(pinned, "pins", lambda: raised)

    assert built_images.our_image("toxiproxy") != before["toxiproxy"]
    assert built_images.our_image("redis") == before["redis"]


@pytest.mark.parametrize(
    ("local", "base"),
    [(None, PINNED), ([], "debian:trixie-slim"), (["debian@sha256:" + 64 * "1"], PINNED)],
    ids=["absent", "imported by hand", "pulled"],
)
def test_the_base_image_is_the_pinned_one_unless_one_was_imported_by_hand(
    monkeypatch: pytest.MonkeyPatch, local: list[str] | None, base: str
) -> None:
    monkeypatch.setattr(docker_images, "pins", lambda: {"BASE": PINNED})

    assert docker_images.base_image(engine_with(local)) == base


def engine_with(digests: list[str] | None) -> Any:
    """An engine that has the base image with these registry digests, or lacks it (None)."""

    def get(name: Any) -> Any:
        if digests is None:
            raise ImageNotFound(name)
        return SimpleNamespace(attrs={"RepoDigests": digests})

    return SimpleNamespace(images=SimpleNamespace(get=get))


SESSION = {"FENCEPOST_HAZELCAST_SESSION": "2"}
NAMES = ("hazelcast-1", "hazelcast-2", "hazelcast-3")


@pytest.fixture(scope="module")
def members(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    servers = tuple(
        ServerSpec(name=name, system="hazelcast", cluster="lock", variables=SESSION) for name in NAMES
    )
    topology = Topology(servers=servers, clients=1, partitions=True)
    with docker_engine.start(
        topology, run_named("hazelcast"), tmp_path_factory.mktemp("run"), print
    ) as cluster:
        yield cluster


def usable(cluster: Cluster) -> list[bool]:
    return [hazelcast_server.is_usable(server.address) for server in cluster.servers]


@pytest.mark.slow
def test_every_member_says_its_release(members: Cluster) -> None:
    servers = members.environment()["servers"]

    assert [servers[name]["version"] for name in NAMES] == ["5.3.8"] * 3


@pytest.mark.slow
def test_clients_are_told_an_address_at_which_nothing_answers(members: Cluster) -> None:
    with hazelcast_server.logged_in(members.edge(0, "hazelcast-1")) as (_, _, said):
        port, host = said[2:4]

    assert (host, int.from_bytes(port, "little")) == (b"127.0.0.1", 1)


@pytest.mark.slow
def test_a_partition_cuts_the_edge_of_a_client(members: Cluster) -> None:
    with partition(members, 0, NAMES):
        during = [reply(members.edge(0, name), "hazelcast", within=0.3) for name in NAMES]
        meanwhile = usable(members)

    assert (during, meanwhile) == ([None] * 3, [True] * 3)
    assert None not in [reply(members.edge(0, name), "hazelcast", within=2) for name in NAMES]


@pytest.mark.slow
def test_the_other_members_go_on_without_one_that_was_killed(members: Cluster) -> None:
    members.kill(["hazelcast-2"])
    assert wait_for(lambda: usable(members) == [True, False, True])

    members.restart(["hazelcast-2"])

    assert usable(members) == [True] * 3


@pytest.mark.slow
def test_all_members_start_again_without_data_after_a_kill(members: Cluster) -> None:
    members.kill(NAMES)
    assert usable(members) == [False] * 3

    members.restart(NAMES)

    assert usable(members) == [True] * 3


POOLED = ServerSpec(name="pgbouncer-1", system="pgbouncer", image="fencepost/postgres", cluster="lock")


def test_two_clients_hold_one_lock_of_a_session(docker_engine: Engine, run_id: str, tmp_path: Path) -> None:
    topology = Topology(servers=(POOLED,), clients=2, partitions=True)
    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        with ExitStack() as stack:
            servers = (cluster.edge(client, "pgbouncer-1") for client in (0, 1))
            held = [granted(at, stack) for at in servers]
        version = cluster.environment()["servers"]["pgbouncer-1"]["version"]
        for _ in range(3):  # its lock file may have the number of another process of the next start
            cluster.kill(["pgbouncer-1"])
            cluster.restart(["pgbouncer-1"])

    assert held == [True, True]
    assert re.match(r"PgBouncer 1\.\d+\.\d+ before PostgreSQL 17", version)


def granted(at: Address, stack: ExitStack) -> bool:
    """Take the lock on a new connection, which stays open."""
    login = f"host={at.host} port={at.port} {POSTGRES_LOGIN}"
    client = stack.enter_context(psycopg.connect(login, autocommit=True))
    return client.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (True,)
