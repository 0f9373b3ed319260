"""Images that Docker builds, tags and runs."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ServerNotReadyError
from harness.engines import built_images, docker_images
from harness.engines.built_images import pins
from harness.engines.engine import Engine
from harness.network.topology import ServerSpec, Topology
from tests.support.systems import OLD_ETCD, postgres_from


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
