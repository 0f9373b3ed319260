"""`fencepost check-client`, on correct programs and on those with a mistake, and `fencepost card`."""

import re
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import fencepost, refusal
from tests.support.repository import ROOT
from tests.support.selection import BOTH_ENGINES, nightly

PROGRAM = ROOT / "tests/support/line_program.py"


@pytest.fixture
def checked(tmp_path: Path) -> Any:
    """Check the program, with a text of its source replaced; returns the process that ended."""

    def check(old: str, new: str, *options: str) -> Any:
        source = PROGRAM.read_text()
        assert old in source
        program = tmp_path / "program.py"
        program.write_text(source.replace(old, new))
        command = shlex.join([sys.executable, str(program), str(tmp_path / "file.db")])
        return fencepost(
            tmp_path,
            "check-client",
            "--engine=local",
            "--set=lock.ttl=1s",
            "--fencing=compare",
            *options,
            command,
        )

    return check


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        ((), "fence"),
        pytest.param(("--side=lock",), "write", marks=pytest.mark.slow),
        pytest.param(("--side=storage",), "acquire", marks=pytest.mark.slow),
        pytest.param(
            ("--side=storage", "--set=storage.policy=inclusive", "--set=storage.fence_on_acquire=true"),
            "write with the same token (strict)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_correct_program_fits(checked: Any, options: tuple[str, ...], absent: str) -> None:
    done = checked("", "", *options)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("everything fits\n")
    assert not [line for line in done.stdout.splitlines() if line.split(" ", 1)[1].startswith(f"{absent}:")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ("self.release(request)", 0, "ok    end after the stop: ended "),
        (
            '{"outcome": "ok"}',
            1,
            "WRONG acquire after the stop: failed (not free in time); expected ok: the stop was answered ok,",
        ),
    ],
)
def test_a_program_that_knows_stop_gives_its_lock_back(
    checked: Any, answer: str, code: int, said: str
) -> None:
    ready = '    say(id=first["id"], outcome="ok"'
    stop = f'lambda self, request: {answer} if request["owner"] else {{"outcome": "ok"}}'

    done = checked(
        ready, f"    Program.stop = {stop}\n{ready}, stop=True", "--side=lock", "--set=lock.ttl=10s"
    )

    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout


@pytest.mark.slow
def test_advice_about_a_grant_is_shown_to_its_end(checked: Any) -> None:
    done = checked('"token": token, "ttl_ms"', '"token": 2**60 + token, "ttl_ms"', "--side=lock")

    assert "round numbers above 2^53: answer its digits as a string\n" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "AND ends < ? RETURNING",
            "AND ends < ? + 10000000000 RETURNING",
            "acquire of a held lock: ok; expected failed",
        ),
        (
            "token = token + 1",
            "token = token",
            "token of the next holder: from 0 to 0: a fencing token must rise from grant to grant",
        ),
        *nightly(
            (
                'if "tokenless" in sys.argv else',
                "if True else",
                "token of the next holder: this lock gives no fencing token",
            ),
            (
                '"failed", "reason": "not free in time"',
                '"unknown", "reason": "not sure"',
                "acquire of a held lock: unknown (not sure); expected failed",
            ),
            (
                '"attempt_ns": now',
                '"attempt_ns": time.time_ns()',
                r"acquire: attempt_ns \d+ is not a CLOCK_MONOTONIC time since the request",
            ),
            (
                "now + self.ttl * 1_000_000, request",
                "now + self.ttl * 100_000, request",
                r"acquire after the holder was killed: granted .* which was promised 1.00 s",
            ),
            (
                "now + self.ttl * 1_000_000, request",
                "now + self.ttl * 10_000_000, request",
                "acquire after the holder was killed: .* is not free after 3 TTLs",
            ),
            (
                "mark < :token OR",
                "CAST(mark AS real) <= CAST(:token AS real) OR",
                "write with the same token (strict): ok; expected stale",
            ),
            (
                '"value": value, "token": token}',
                '"value": value, "token": float(token)}',
                "read: the program said .*Expected `int . null`, got `float`",
            ),
        ),
    ],
)
@pytest.mark.slow
def test_a_mistake_is_named(checked: Any, old: str, new: str, found: str) -> None:
    done = checked(old, new)

    assert done.returncode == 1, done.stdout + done.stderr
    wrong = [line.removeprefix("WRONG ") for line in done.stdout.splitlines() if line.startswith("WRONG ")]
    verb = "does" if len(wrong) == 1 else "do"
    assert done.stdout.endswith(f"\n{len(wrong)} of these {verb} not fit: see docs/adapters.md\n")
    pattern = found.replace("(", r"\(").replace(")", r"\)")
    assert [line for line in wrong if re.match(pattern, line)], done.stdout


def test_a_program_that_does_not_start_is_named_with_its_log(checked: Any) -> None:
    done = checked("def main() -> None:", "def main() -> None:\n    sys.exit('no licence')")

    assert done.returncode in (3, 4)
    assert "did not become ready" in done.stderr
    assert "no licence" in done.stderr
    assert "logs/" not in done.stderr, "the folder of a check is gone when its error is read"


@pytest.mark.slow
@pytest.mark.parametrize("engine", BOTH_ENGINES)
def test_running_servers_are_not_stopped(checked: Any, engine: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(f"{engine}_engine")
    with socket.create_server(("127.0.0.1", 0)) as server:
        at = "{}:{}".format(*server.getsockname())
        done = checked("", "", f"--engine={engine}", f'--set=lock.endpoints=["{at}"]')

    assert done.returncode == 0, done.stdout + done.stderr
    assert "stopped" not in done.stdout


def test_an_unknown_kind_is_a_mistake_of_the_command(checked: Any) -> None:
    done = checked("", "", "--lock=redisx")

    assert done.returncode == 4
    assert "redisx" in done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('start["timeout_ms"] / 1000}', "None}", "acquire while the lock's servers are stopped: no answer"),
        (
            "        if not self._lock(resource).acquire(blocking_timeout=wait, token=owner):",
            """        try:
            taken = self._lock(resource).acquire(blocking_timeout=wait, token=owner)
        except redis.TimeoutError as error:
            raise Failed(str(error)) from error
        if not taken:""",
            "acquire after a failed one: failed (not free in time): the acquire that it had answered with failed",
        ),
    ],
    ids=["no deadline", "failed after a timeout"],
)
def test_a_mistake_with_stopped_servers_is_named(tmp_path: Path, old: str, new: str, found: str) -> None:
    sources = {path.name: path.read_text() for path in (ROOT / "examples/locks/python").glob("*.py")}
    assert any(old in source for source in sources.values())
    for name, source in sources.items():
        (tmp_path / name).write_text(source.replace(old, new))
    command = shlex.join([sys.executable, str(tmp_path / "redis_py.py")])

    done = fencepost(
        tmp_path,
        "check-client",
        "--engine=local",
        "--side=lock",
        "--lock=redis",
        "--set=lock.ttl=10s",
        command,
    )

    assert done.returncode == 1, done.stdout + done.stderr
    assert f"WRONG {found}" in done.stdout


@pytest.mark.parametrize(
    ("named", "said"),
    [("mine:Lock", "is a class, not a program"), ("mine.toml", "is a target, not a program")],
)
def test_a_class_and_a_target_are_no_programs(tmp_path: Path, named: str, said: str) -> None:
    done = refusal(tmp_path, "check-client", named)

    assert done.startswith(f"{named} {said}: ")
    assert "fencepost validate" in done


def test_a_folder_that_cannot_hold_the_card_is_named_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = shlex.join([sys.executable, str(ROOT / "tests/support/line_program.py")])
    kinds = ["--lock=client", "--storage=sqlite", "--no-token", "--only=calm", "--name=mine"]

    said = "file/cards/mine: cannot hold the card: Not a directory; name another folder with --cards"
    assert said in refusal(tmp_path, "card", "--engine=local", "--cards=file/cards", *kinds, command)
