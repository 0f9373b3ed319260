"""ARCHITECTURE.md and its picture: every folder that they name exists, and every package folder is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from tests.support.repository import ROOT

PACKAGES = ("checkers", "workloads", "harness", "fencepost", "tools", "compose")
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FOLDER = re.compile(r"`([a-z_]+/(?:[a-z_]+/)*)`")


def package_folders() -> Iterator[str]:
    """The folders of code, such as `harness/nemesis/`."""
    for package in PACKAGES:
        for module in (ROOT / package).rglob("__init__.py"):
            yield f"{module.parent.relative_to(ROOT)}/"


def folders_of_the_page() -> list[str]:
    """The folders that the page names; in a row of the table, a folder may go on from the row's own."""
    found = []
    for line in PAGE.splitlines():
        row = re.match(r"\| `([a-z_]+/)` \|", line)
        for name in FOLDER.findall(line):
            inner = f"{row[1]}{name}" if row else name
            found.append(inner if (ROOT / inner).is_dir() else name)
    return found


class Texts(HTMLParser):
    """The texts of a drawing."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def folders_of_the_picture() -> list[str]:
    texts = Texts()
    texts.feed((ROOT / "docs/architecture.svg").read_text(encoding="utf-8"))
    return [name for text in texts.found for name in re.findall(r"\b([a-z_]+)/", text)]


@pytest.mark.parametrize("folder", sorted(set(folders_of_the_page())))
def test_a_folder_that_the_page_names_exists(folder: str) -> None:
    assert (ROOT / folder).is_dir()


@pytest.mark.parametrize("folder", sorted(set(package_folders())))
def test_a_package_folder_is_named_on_the_page(folder: str) -> None:
    assert folder in folders_of_the_page()


@pytest.mark.parametrize("name", sorted(set(folders_of_the_picture())))
def test_a_folder_of_the_picture_exists(name: str) -> None:
    assert [folder for folder in package_folders() if folder.endswith(f"{name}/")]


def test_the_page_stays_one_page() -> None:
    assert len(PAGE.split()) < 800
