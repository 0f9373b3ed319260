"""Large files: holes cost nothing, content is held once, and cyclic garbage is left alone in bulk work."""

from __future__ import annotations

import os
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import pytest

from checkers.formats.text import read_text
from checkers.history import files
from checkers.history.gc_pause import collecting, gc_paused
from checkers.history.reader import read
from checkers.text import limits
from checkers.text.errors import HistoryError

HEADER = b'{"fencepost":1,"target":"t","fenced":true,"policy":"strict"}\n'
HOLE = limits.HISTORY - limits.MIB
MOST = 512 * limits.MIB


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """A history of almost 2 GiB that takes a block of the disk."""
    file = tmp_path / "history.jsonl"
    with file.open("wb") as opened:
        opened.write(HEADER)
        opened.truncate(HOLE)
    return file


def test_a_foreign_history_is_read_up_to_its_first_hole(sparse: Path) -> None:
    tracemalloc.start()

    with pytest.raises(HistoryError, match=r"history\.jsonl:2: this is not a text: it has a null byte"):
        read_text(sparse)

    assert tracemalloc.get_traced_memory()[1] < MOST
    tracemalloc.stop()


@pytest.mark.slow
def test_our_own_history_is_read_up_to_its_first_hole(sparse: Path) -> None:
    tracemalloc.start()

    with pytest.raises(HistoryError, match=r"history\.jsonl:2: the line is over 1 MiB"):
        read(sparse)

    assert tracemalloc.get_traced_memory()[1] < MOST
    tracemalloc.stop()


@pytest.mark.parametrize("received", [False, True])
def test_a_file_that_is_replaced_after_it_was_checked_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, received: bool
) -> None:
    file = tmp_path / "history.jsonl"
    file.write_bytes(HEADER)
    really = os.open

    def replaced(name: Any, *more: Any, **others: Any) -> int:
        if Path(name).name == file.name:
            file.unlink()
            os.mkfifo(file)
        return really(name, *more, **others)

    monkeypatch.setattr("checkers.history.files.os.open", replaced)

    with pytest.raises(HistoryError, match="this is a pipe, and only regular files are read"):
        files.read_bytes(file, MOST, within=tmp_path if received else None)


def test_a_whole_file_takes_little_more_memory_than_its_size(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    size = 96 * limits.MIB
    file.write_bytes(b" " * size)
    tracemalloc.start()

    assert len(files.read_bytes(file, size, text=True)) == size

    assert tracemalloc.get_traced_memory()[1] < 1.5 * size
    tracemalloc.stop()


class Linked:
    """An object that only the collector of cycles can free."""

    def __init__(self) -> None:
        self.itself = self


def test_cycles_of_a_long_loop_are_collected_on_the_way() -> None:
    with gc_paused():
        left = [weakref.ref(Linked()) for _ in collecting(range(2_000))]
        alive = sum(each() is not None for each in left)

    assert alive < 1_000


def test_without_that_no_cycle_is_collected() -> None:
    with gc_paused():
        left = [weakref.ref(Linked()) for _ in range(2_000)]
        alive = sum(each() is not None for each in left)

    assert alive == 2_000
