"""The source of a user's class tells whether it is there; nothing of it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from workloads.class_source import missing

RUNS = 'open("it-ran", "w")\n'
MODULES = {
    "mine.py": RUNS + "import re\nDIGIT = '\\d'\nclass MyLock: ...\nif re:\n    Bound = MyLock\n",
    "lazy.py": RUNS + "def __getattr__(name): ...\n",
    "all.py": RUNS + "from mine import *\n",
    "renamed.py": RUNS + "from mine import MyLock as Theirs\n",
    "broken.py": RUNS + "class (\n",
    "package/__init__.py": RUNS,
    "package/locks.py": RUNS + "class Deep: ...\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has these modules."""
    (tmp_path / "package").mkdir()
    for name, source in MODULES.items():
        (tmp_path / name).write_text(source)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "kind",
    [
        "mine:MyLock",
        "mine:Bound",
        "lazy:Anything",
        "all:Anything",
        "renamed:Theirs",
        "package.locks:Deep",
        "json:JSONDecoder",
        "math:Unknown",  # has no source
    ],
)
def test_a_class_that_may_be_there_is_not_missing(kind: str) -> None:
    assert missing(kind) is None
    assert not Path("it-ran").exists()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("mine:MyLok", "mine.py has no MyLok; did you mean MyLock?"),
        ("renamed:MyLock", "renamed.py has no MyLock"),
        ("nine:MyLock", "there is no module nine (searched: PYTHONPATH"),
        ("package.lock:Deep", "there is no module package.lock (searched: "),
        ("mine.locks:MyLock", "there is no module mine.locks (searched: "),
        ("broken:X", "broken.py cannot be read as Python: "),
    ],
)
def test_a_missing_class_is_named_with_the_place(kind: str, why: str) -> None:
    assert why in (missing(kind) or "")
    assert not Path("it-ran").exists()


def test_a_module_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("#" * (1 << 20) + "\n")

    assert "a module is never that long" in (missing("long:X") or "")


def test_a_module_that_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text("x = " + "-" * 200_000 + "1\n")

    assert "deep.py cannot be read as Python: " in (missing("deep:X") or "")
