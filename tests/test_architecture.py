"""ARCHITECTURE.md names every folder; test names are sentences, and files are short."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
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


LONGEST = 70  # characters


def test_no_name_of_a_test_has_more_than_70_characters() -> None:
    texts = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    names = [
        name for text in texts for name in re.findall(r"^ *(?:async )?def (test_\w+)", text, re.MULTILINE)
    ]

    assert len(names) > 1_000
    assert [name for name in names if len(name) > LONGEST] == []


def test_no_test_sleeps_except_between_two_looks() -> None:
    """A sleep in a loop polls; any other waits and hopes."""
    hoping = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in (ROOT / "tests").rglob("test_*.py")
        if "time.sleep" in (text := file.read_text(encoding="utf-8"))
        for node in _outside_of_loops(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep"
    ]

    assert hoping == []


def _outside_of_loops(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.While | ast.For):
            found += [child, *_outside_of_loops(child)]
    return found


def test_each_name_of_a_public_class_has_one_meaning() -> None:
    places = defaultdict(list)
    for folder in ("checkers", "workloads", "harness", "fencepost"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(str(file.relative_to(ROOT)))

    assert len(places) > 500
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


FOLDERS = (
    *("checkers", "workloads", "harness", "fencepost"),
    *("tools", "benchmarks", "fuzzing", "examples", "tests"),
)
LONGEST_FILE = 350  # lines


def test_no_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if ".venv" not in path.parts  # of an adapter that was built
    }

    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}
