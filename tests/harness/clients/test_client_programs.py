"""The user's own programs as clients of complete runs; no server is started."""

import hashlib
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.files.logs import CUT, MOST
from tests.support.challenged import ATTEMPTED, Condition, counted, run_until_challenged
from tests.support.command import refusal, run_target, run_words
from tests.support.repository import ROOT
from tests.support.selection import nightly
from tests.support.target_files import SUPERSEDED, target_text

PROGRAM = ROOT / "tests/support/line_program.py"


def write_target(folder: Path, command: Sequence[object]) -> None:
    """Write mine.toml, with that command as its clients and a pause at each write."""
    (folder / "mine.toml").write_text(
        target_text(
            f"[client]\ncommand = {json.dumps([str(word) for word in command])}",
            SUPERSEDED,
            lock='kind = "client"\nttl = "1s"',
            storage='kind = "client"\nfencing = "compare and write in one transaction"',
        ).replace('"t"', '"mine"')
    )


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a target with that command as its clients, and a pause at each write, until it was challenged."""

    def run_it(command: Any, *settings: Any, was_challenged: Condition = ATTEMPTED) -> Any:
        write_target(tmp_path, command)
        return run_until_challenged(
            lambda duration: run_target(tmp_path, "mine.toml", duration, *settings), 4, was_challenged
        )

    return run_it


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "settings", "verdict", "evidence"),
    [
        ((), (), "valid", {"committed", "observed"}),
        pytest.param(
            (),
            ("storage.fencing=none", 'expect=["stale-write"]'),
            "invalid",
            {"committed", "observed"},
        ),
        pytest.param(("forgetful",), (), "valid", {"observed"}, marks=pytest.mark.nightly),
        pytest.param(
            (),
            ("workload.kind=append", "storage.policy=inclusive", "storage.fence_on_acquire=true"),
            "valid",
            {"committed", "observed"},
        ),
    ],
)
def test_a_program_is_run_paused_and_judged(
    run: Any,
    tmp_path: Path,
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    verdict: str,
    evidence: set[str],
) -> None:
    done = run([sys.executable, PROGRAM, tmp_path / "file.db", *arguments], *settings)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == verdict
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert {each["evidence"] for each in document["checkers"]} == evidence
    assert "processes" in (tmp_path / "runs/mine/latest/plan.json").read_text(), "it was stopped too"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("tokenless",), *nightly((("tokenless", "forgetful"),))])
def test_a_lock_without_token_is_judged_by_time(run: Any, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    unfenced = ("lock.token=none", "storage.fencing=none", 'expect=["stale-write"]')

    done = run([sys.executable, PROGRAM, tmp_path / "file.db", *arguments], *unfenced)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["coverage"]["stale_writes_accepted"] >= 1
    assert {finding["rule"] for finding in document["findings"]} == {"after-later-hold"}
    assert [each for each in document["notices"] if each.startswith("this lock gives no fencing token")]


@pytest.mark.slow
def test_a_program_runs_as_the_user_and_inherits_the_environment(tmp_path: Path) -> None:
    said = 'echo "user $(id -u) has $OF_THE_USER" >&2'
    script = f'{said}; exec "{sys.executable}" "{PROGRAM}" "{tmp_path / "file.db"}"'
    write_target(tmp_path, ["sh", "-c", script])

    done = run_target(tmp_path, "mine.toml", "workload.duration=2s", "faults=[]", OF_THE_USER="inherited")

    logs = list((tmp_path / "runs/mine/latest/logs").glob("client-*.log"))
    assert len(logs) >= 2, done.stderr
    assert {log.read_text().splitlines()[0] for log in logs} == {f"user {os.geteuid()} has inherited"}


@pytest.mark.slow
def test_a_fence_that_gets_no_token_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    write_target(tmp_path, [sys.executable, PROGRAM, tmp_path / "file.db", "tokenless"])

    done = run_target(tmp_path, "mine.toml", "workload.duration=20s")

    assert done.returncode == 4, done.stderr
    assert "this lock gives no fencing token" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_program_and_its_versions_are_recorded(run: Any, tmp_path: Path) -> None:
    run([sys.executable, PROGRAM, tmp_path / "file.db"])

    latest = tmp_path / "runs/mine/latest"
    program = json.loads((latest / "environment.json").read_text())["program"]
    assert program["versions"] == {"sqlite": sqlite3.sqlite_version}
    digest = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    assert program["files"][str(PROGRAM)] == f"sha256:{digest}"
    assert f"sqlite {sqlite3.sqlite_version}" in (latest / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "settings"),
    [
        ("lock", ("storage.kind=sqlite", "storage.fencing=none", 'expect=["stale-write"]')),
        *nightly(("lock", ("storage.kind=sqlite", "storage.fencing=conditional-update"))),
        ("storage", ("lock.kind=files:FileLock",)),
    ],
)
def test_a_program_may_do_one_side(run: Any, tmp_path: Path, side: str, settings: tuple[str, ...]) -> None:
    shutil.copy(ROOT / "examples/own-class/files.py", tmp_path)
    locks = tmp_path / "files-of-the-example"  # which the example's storage creates
    locks.mkdir()
    for resource in ("r0", "r1"):
        (locks / f"lock-{resource}").write_text("{}")

    done = run([sys.executable, PROGRAM, tmp_path / "file.db"], f"client.side={side}", *settings)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert {each["evidence"] for each in document["checkers"]} == {"committed", "observed"}
    assert "processes" in (tmp_path / "runs/mine/latest/plan.json").read_text(), "both were stopped"


@pytest.mark.slow
def test_a_pause_at_write_sent_follows_the_programs_event(run: Any, tmp_path: Path) -> None:
    done = run(
        [sys.executable, PROGRAM, tmp_path / "file.db"],
        "faults.0.at=write-sent",
        'faults.0={kind="pause", target="holder", at="write-sent", lasts="1.5 ttl"}',
        "require.stale_writes_attempted=0",
        "require.pauses=1",
        was_challenged=counted("pauses"),
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("program", "where"), [("no-such-program", "on PATH"), ("./not-here", "from the current folder, /")]
)
def test_a_missing_program_is_refused_before_the_run(tmp_path: Path, program: str, where: str) -> None:
    write_target(tmp_path, [program])

    said = refusal(tmp_path, *run_words("mine.toml"))

    assert f"mine: client.command: there is no executable program {program} {where}" in said
    assert "harness/" not in said, "no traceback of ours"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([sys.executable, "nothing.py"], "ended with status 2; its last lines:"),
        (["echo", "hello"], "did not become ready: the program said hello: "),
        ([sys.executable, "-c", "raise RuntimeError('my words')"], "RuntimeError: my words"),
    ],
)
def test_a_command_that_is_no_client_is_reported(run: Any, command: list[str], said: str) -> None:
    done = run(command)

    assert done.returncode == 3
    assert said in done.stderr
    assert "harness/" not in done.stderr, "no traceback of ours"


@pytest.mark.slow
def test_a_program_that_floods_stderr_neither_fills_the_disk_nor_blocks(run: Any, tmp_path: Path) -> None:
    flooding = tmp_path / "flooding.py"
    flooding.write_text(
        "import os, runpy, sys, threading\n"
        "def flood():\n"
        "    for _ in range(2000): os.write(2, b'x' * 2**20)\n"
        "threading.Thread(target=flood, daemon=True).start()\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
    )

    done = run(
        [sys.executable, flooding, tmp_path / "file.db"],
        "require.stale_writes_attempted=0",
        "workload.clients=3",
        "workload.resources=1",
        was_challenged=lambda _verdict: have_grown_over(MOST, tmp_path / "runs/mine/latest/logs"),
    )

    assert done.returncode == 0, done.stderr
    assert "logs/client-0.log was cut: it exceeded 16 MiB" in done.stderr
    logs = list((tmp_path / "runs/mine/latest/logs").glob("client-*.log"))
    assert {log.stat().st_size for log in logs} == {MOST + len(CUT)}
    assert all(log.read_bytes().endswith(CUT) for log in logs)


def have_grown_over(size: int, logs: Path) -> bool:
    return all(log.stat().st_size > size for log in logs.glob("client-*.log"))
