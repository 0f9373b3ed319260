"""The error that a client records: of a library its message, of a mistake also its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.clients.recorder import RecordedSession, Recorder
from workloads.client import NotApplied


def refuse() -> NoReturn:
    raise NotApplied("not the\n holder")


def lose_the_connection() -> NoReturn:
    raise ConnectionResetError("connection reset")


def mistake() -> NoReturn:
    raise ValueError("boom")


def error_of(recorder: Recorder, action: Any) -> str:
    return str(RecordedSession(recorder, 0, 1).call("read", "r0", action).fields["error"])


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "client-0.jsonl", passwords=("hunter22",))


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (refuse, "not the holder"),
        (lose_the_connection, "connection reset"),
        (mistake, f"raised ValueError: boom ({Path(__file__).name}:23, in mistake)"),
    ],
)
def test_an_error_has_its_place_if_it_is_a_mistake(recorder: Recorder, action: Any, said: str) -> None:
    assert error_of(recorder, action) == said


def test_the_log_has_the_traceback_of_a_mistake_without_passwords(
    recorder: Recorder, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> NoReturn:
        raise KeyError("hunter22")

    session = RecordedSession(recorder, 0, 1)
    for _ in range(100):
        session.call("read", "r0", fail)
    session.call("read", "r0", lose_the_connection)

    log = capsys.readouterr().err
    assert 1 < log.count("Traceback") < 100
    assert "in fail" in log
    assert "hunter22" not in log
    assert "ConnectionResetError" not in log
