"""The pinned versions of our images, and their use in builds."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

from harness.core.errors import ServerNotReadyError
from harness.engines import built_images, docker_images, pins
from harness.engines.docker_api import connect
from harness.engines.engine import Engine
from harness.network.topology import Topology
from tests.support.repository import ROOT

FOLDERS = [built_images.folder_of(name) for name in built_images.our_images()]
OUR_OWN = ROOT  # of the image of Fencepost itself
PINNED = "debian:trixie-slim@sha256:" + 64 * "0"


def test_the_base_image_is_pinned_by_its_digest() -> None:
    assert re.fullmatch(r"debian:trixie-slim@sha256:[0-9a-f]{64}", pins.pins()["BASE"])


@pytest.mark.parametrize("folder", [*FOLDERS, OUR_OWN], ids=lambda folder: folder.name)
def test_a_build_by_hand_uses_the_same_versions(folder: Path) -> None:
    text = (folder / "Dockerfile").read_text()
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
    by_hand = pins.pins() | {"BASE": pins.pins()["BASE"].partition("@")[0]}

    assert defaults == {name: by_hand[name] for name in defaults}
    assert "BASE" in defaults
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) <= {"$BASE", "scratch"}


def test_every_pin_is_used() -> None:
    assert {name for folder in FOLDERS for name in pins.pins_of(folder)} == set(pins.pins())


def test_another_version_gives_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: built_images.our_image(name) for name in ("toxiproxy", "redis")}
    raised = pins.pins() | {"TOXIPROXY": "2.13.0"}
    monkeypatch.setattr(pins, "pins", lambda: raised)

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


@pytest.fixture
def imported(docker_engine: Engine, run_id: str) -> Iterator[Any]:  # noqa: ARG001 (without one, the test is skipped)
    """An image that was imported by hand, under its own tag."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    with closing(connect()) as client:
        client.api.import_image_from_data(content.getvalue(), repository="imported", tag=run_id)
        yield client, f"imported:{run_id}"
        client.images.remove(f"imported:{run_id}")


def test_an_imported_image_has_no_digest(imported: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, tag = imported
    monkeypatch.setattr(docker_images, "pins", lambda: {"BASE": f"{tag}@sha256:{64 * '0'}"})

    assert docker_images.base_image(client) == tag


def test_a_build_gets_the_pins_that_its_dockerfile_declares(
    docker_engine: Engine,
    make_topology: Callable[..., Topology],
    run_id: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "Dockerfile").write_text(
        "ARG BASE=none\nFROM $BASE\nARG TOXIPROXY=none\nRUN echo it is $TOXIPROXY for ${JAVA_RELEASE:-nobody} >&2; exit 7\n"
    )
    for module in (docker_images, built_images):
        monkeypatch.setattr(module, "folder_of", lambda _image: tmp_path)

    with (
        pytest.raises(ServerNotReadyError, match=f"it is {pins.pins()['TOXIPROXY']} for nobody"),
        docker_engine.start(make_topology(), run_id, tmp_path / "run", print),
    ):
        pass
