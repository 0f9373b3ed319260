"""The commands under a verdict: to run it again, from where and with what."""

from __future__ import annotations

from pathlib import Path

from harness.core.invocation import Repetition
from harness.spec.executed import executed_again
from tests.support.printed_verdicts import document, printed
from tests.support.target_files import OWN_PROGRAM

FOLDER = Path("/runs/etcd-postgres/20260101T000000-abc123")


def test_a_run_is_repeated_with_the_options_that_it_was_given() -> None:
    judged = document(stale_writes_attempted=1, stale_writes_rejected=1)

    how = Repetition(options=("--engine", "local", "--no-faults"))
    lines = printed(judged, folder=FOLDER, seed=7, repetition=how)

    again = f"fencepost run {FOLDER}/target.toml --seed 7 --engine local --no-faults"
    assert lines[-1] == f"  run again    {again}"


def test_a_run_of_own_code_is_repeated_from_the_folder_of_that_code(tmp_path: Path) -> None:
    (tmp_path / "target.toml").write_text(OWN_PROGRAM)
    judged = document(stale_writes_attempted=1, stale_writes_rejected=1)
    how = Repetition(folder="/home/me/my lock", python_path="lib")
    executed_again(OWN_PROGRAM, how).trust()

    lines = printed(judged, folder=tmp_path, seed=7, repetition=how)

    again = f"cd '/home/me/my lock' && PYTHONPATH=lib fencepost run {tmp_path}/target.toml --seed 7"
    assert lines[-1] == f"  run again    {again}"


def test_no_line_starts_code_that_has_not_run_here(tmp_path: Path) -> None:
    (tmp_path / "target.toml").write_text(OWN_PROGRAM)
    judged = document(stale_writes_attempted=1, stale_writes_rejected=1)
    how = Repetition(folder="/theirs", python_path="/theirs")

    lines = printed(judged, folder=tmp_path, seed=7, repetition=how)

    assert lines[-5:] == [
        f"  run again    fencepost run {tmp_path}/target.toml --seed 7",
        "               it would execute what has not run on this machine; add --trust if you trust it:",
        '                 client.command: ["./client\\n"]',
        '                 in the folder: "/theirs"',
        '                 with PYTHONPATH: "/theirs"',
    ]
