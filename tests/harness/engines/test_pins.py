"""Pins: every version that the images use, in one file."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

from harness.engines import built_images, docker_images
from harness.engines import built_images as pinned
from tests.support.repository import ROOT

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
