"""A large history is read by two processes, to the same columns and errors as by one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.lock_runs import run_lines
from checkers.history import growing, reader, second_reader
from checkers.history.columns import Columns, Operations
from checkers.history.event_columns import Part
from checkers.history.reader import read
from checkers.history.records import History
from checkers.text.errors import HistoryError
from tests.support.in_columns import read_or_error

HALF_WRITTEN = b'{"time":'
THROTTLE = b'{"lasting":"was slow","now":"is slow","afterwards":"is fast again","short":"slow"}'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with faults of a kind of its own, which one process reads in several chunks."""
    monkeypatch.setattr(reader, "LONG", 0)
    monkeypatch.setattr(growing, "CHUNK", 1 << 16)
    path = tmp_path / "history.jsonl"
    header, *events = run_lines(3000)[0]
    own = header.replace(b"}}", b'},"faults":{"throttle":%b}}' % THROTTLE)
    path.write_bytes(b"".join([own, *events]).replace(b'"f":"pause"', b'"f":"throttle"'))
    return path


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Part | None]:
    """What second processes have read, of every file from now on."""
    found: list[Part | None] = []
    result = second_reader._result

    def kept(process: Any) -> Part | None:
        found.append(result(process))
        return found[-1]

    monkeypatch.setattr(second_reader, "_result", kept)
    monkeypatch.setattr(second_reader, "LARGE", 0)
    monkeypatch.setattr(second_reader, "HEAD_START", 0)
    monkeypatch.setattr(second_reader, "_processors", lambda: 2)
    return found


def content(history: History) -> dict[str, Any]:
    assert isinstance(history.operations, Operations)
    columns = history.operations.columns
    found = {field.name: getattr(columns, field.name) for field in fields(Columns)}
    return {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in found.items()} | {
        "faults": history.faults,
        "notices": history.notices,
        "started": history.started,
    }


@pytest.mark.parametrize("end", [b"", HALF_WRITTEN])
def test_two_processes_read_the_same_columns_as_one(
    run: Path, end: bytes, request: pytest.FixtureRequest
) -> None:
    run.write_bytes(run.read_bytes() + end)
    alone = read(run)
    parts = request.getfixturevalue("parts")

    together = read(run)

    assert content(together) == content(alone)
    assert len(together.notices) == bool(end)
    (part,) = parts
    assert part.lines > 2000
    assert 0 < len(part.faults) < len(together.faults)
    assert together.faults[-1].words.lasting == "was slow"


@pytest.mark.parametrize("place", [0.25, 0.75])
def test_the_error_of_a_wrong_line_is_that_of_one_process(
    run: Path, place: float, request: pytest.FixtureRequest
) -> None:
    lines = run.read_bytes().splitlines(keepends=True)
    number = int(place * len(lines))
    lines[number] = lines[number].replace(b'"process":', b'"process":-')
    run.write_bytes(b"".join(lines))
    alone = read_or_error(run)
    request.getfixturevalue("parts")

    assert read_or_error(run) == alone
    with pytest.raises(HistoryError) as error:
        read(run)
    assert error.value.line == number + 1


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/false", "/bin/true"])
def test_without_a_second_process_one_reads_all(
    run: Path, python: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    alone = read(run)
    parts = request.getfixturevalue("parts")
    monkeypatch.setattr(sys, "executable", python)

    together = read(run)

    assert content(together) == content(alone)
    assert not any(parts)


def test_one_processor_reads_alone(
    run: Path, monkeypatch: pytest.MonkeyPatch, parts: list[Part | None]
) -> None:
    monkeypatch.setattr(second_reader, "_processors", lambda: 1)

    read(run)

    assert parts == []


@pytest.mark.usefixtures("parts")
def test_the_second_process_ends_with_an_interruption(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    popen = subprocess.Popen

    def starts(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    def interrupted(_process: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", starts)
    monkeypatch.setattr(second_reader, "_result", interrupted)

    with pytest.raises(KeyboardInterrupt):
        read(run)

    (process,) = started
    assert process.returncode is not None
