"""The images of the Docker engine: built, tagged, pinned, and unusable ones reported."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

from harness.core.errors import ServerNotReadyError
from harness.engines import built_images, docker_images
from harness.engines import pins as pinned
from harness.engines.engine import Engine
from harness.engines.pins import pins
from harness.network.topology import ServerSpec, Topology
from tests.support.repository import ROOT
from tests.support.systems import OLD_ETCD, postgres_from


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
def test_a_release_of_etcd_is_built_and_runs(docker_engine: Engine, run_id: str, tmp_path: Path) -> None:
    spec = ServerSpec(name="etcd-1", system="etcd", release=OLD_ETCD)
    topology = Topology(servers=(spec,), clients=1, partitions=False)

    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        (server,) = cluster.environment()["servers"].values()

    assert server["version"] == OLD_ETCD


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
