"""The commands that read what a stranger handed over, and everything that they print and write.

Each function of `READERS` passes the subject in the current folder to commands, and yields their outputs.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import pty
import struct
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from fuzzing.hostile.nights import shard
from fuzzing.hostile.words import Words
from fuzzing.surfaces import command

_END = b"\0the end\0"
_COLUMNS = 12_000  # of the terminal: no line wraps


class Kind(enum.StrEnum):
    """What an output is for; each kind has its own rules."""

    TERMINAL = "terminal"  # a pipe: a CI log, a pager
    TTY = "tty"  # colored
    WORKFLOW = "workflow"  # the log of a job of GitHub Actions
    DOCUMENTS = "documents"  # JSON on stdout, one a line
    PAGE = "page"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    JSON = "json"  # a file
    HISTORY = "history"  # a file for another tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a reader gets to see. `name` tells outputs of one kind apart."""

    name: str
    kind: Kind
    text: str


def printed(*arguments: str | Path, kind: Kind = Kind.TERMINAL) -> str:
    """Run a command like a user, and return what it prints on stdout and stderr."""
    words = [str(each) for each in arguments]
    return captured(lambda: command(*words), kind)


def captured(act: Callable[[], object], kind: Kind = Kind.TERMINAL) -> str:
    """Do something, and return what it prints on stdout and stderr."""
    with _terminal() if kind is Kind.TTY else _pipe() as read:
        with _as_user():
            act()
        return read()


@contextlib.contextmanager
def _as_user() -> Iterator[None]:
    """Start as the installed command does, whose name it prints."""
    with patch.object(sys, "argv", ["fencepost"]):
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()


@contextlib.contextmanager
def _pipe() -> Iterator[Callable[[], str]]:
    with tempfile.TemporaryFile() as file:

        def read() -> str:
            os.lseek(copy, 0, os.SEEK_SET)
            with open(copy, "rb") as printed_so_far:  # noqa: PTH123 (a descriptor)
                return printed_so_far.read().decode(errors="surrogateescape")

        copy = os.dup(file.fileno())
        with _redirected(file.fileno()):
            yield read


@contextlib.contextmanager
def _terminal() -> Iterator[Callable[[], str]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
    pieces: list[bytes] = []

    def listen() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)

    def read() -> str:
        sys.stdout.flush()
        os.write(theirs, _END)
        while not b"".join(pieces).endswith(_END):
            listener.join(0.001)
        return b"".join(pieces).removesuffix(_END).decode(errors="surrogateescape").replace("\r\n", "\n")

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    environment = {"TERM": "xterm-256color", "COLUMNS": str(_COLUMNS)}
    with _redirected(theirs), patch.dict(os.environ, environment):
        yield read


@contextlib.contextmanager
def _redirected(to: int) -> Iterator[None]:
    """Send stdout and stderr to a descriptor."""
    kept = [os.dup(number) for number in (1, 2)]
    streams = sys.stdout, sys.stderr
    for number in (1, 2):
        os.dup2(to, number)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (a descriptor)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (a descriptor)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = streams
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)


def _files(folder: Path, names: Mapping[str, Kind]) -> Iterator[Output]:
    for name, kind in names.items():
        if (folder / name).is_file():
            text = (folder / name).read_bytes().decode(errors="surrogateescape")
            yield Output(name=name, kind=kind, text=text)


def _prints(name: str, *arguments: str | Path, kind: Kind = Kind.TERMINAL) -> Output:
    return Output(name=name, kind=kind, text=printed(*arguments, kind=kind))


_OF_RUN = {"report.html": Kind.PAGE, "junit.xml": Kind.JUNIT, "verdict.json": Kind.JSON}


def _run(folder: Path) -> Iterator[Output]:
    yield _prints("recheck", "recheck", folder)
    yield from _files(folder, _OF_RUN)


def _own_run(folder: Path) -> Iterator[Output]:
    """The user has run the same program in the same folder: the commands to repeat it lead there."""
    from harness.spec.executed import Executed

    with patch.object(Executed, "is_trusted", property(lambda _: True)):
        yield _prints("recheck", "recheck", folder)
        yield from _files(folder, _OF_RUN)


def _run_elsewhere(folder: Path) -> Iterator[Output]:
    yield _prints("recheck on a terminal", "recheck", folder, kind=Kind.TTY)
    yield _prints("recheck --format json", "recheck", "--format", "json", folder, kind=Kind.DOCUMENTS)


def _run_for_others(folder: Path) -> Iterator[Output]:
    yield _prints("recheck --model", "recheck", "--model", "fenced-mutex", folder)
    yield _prints("export", "export", "--to", "jepsen-edn", folder, kind=Kind.HISTORY)
    yield _prints("corpus add", "corpus", "add", folder, "--corpus", "stored")
    yield _prints("corpus check", "corpus", "check", "stored")
    yield _prints("run --plan", "run", "--plan", folder / "plan.json", "etcd-postgres-unfenced")
    yield _prints("shrink", "shrink", "--no-runs", folder)


def _judged(folder: Path) -> Iterator[Output]:
    output = _prints("show", "show", folder)
    yield output
    drawn = Path((output.text.splitlines() or [""])[-1])
    if drawn.suffix == ".html":
        for page in _files(drawn.parent, {drawn.name: Kind.PAGE}):
            yield replace(page, name="the page")


def _plugin(folder: Path) -> Iterator[Output]:
    """The report of a failed test, by pytest."""
    from fuzzing.hostile.plugin import failed_test

    yield Output(name="pytest", kind=Kind.TERMINAL, text=failed_test(folder.absolute()))


_OF_NIGHT = {
    "index.html": Kind.PAGE,
    "junit.xml": Kind.JUNIT,
    "summary.md": Kind.MARKDOWN,
    "code-quality.json": Kind.JSON,
    "campaign.json": Kind.JSON,
}


def _shard(folder: Path) -> Iterator[Output]:
    """In a job of GitHub Actions, which gets all outputs."""
    summary = Path("step-summary").absolute()
    actions = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    with patch.dict(os.environ, actions):
        yield _prints("campaign merge", "campaign", "merge", folder, "--nights", "nights", kind=Kind.WORKFLOW)
    yield from _files(summary.parent, {summary.name: Kind.MARKDOWN})
    yield from _night()


def _shard_on_terminal(folder: Path) -> Iterator[Output]:
    yield _prints(
        "campaign merge on a terminal", "campaign", "merge", folder, "--nights", "nights", kind=Kind.TTY
    )


def _night() -> Iterator[Output]:
    for night in sorted(Path("nights").glob("*/2*")):
        yield from _files(night, _OF_NIGHT)


def _results(file: Path) -> Iterator[Output]:
    yield _prints("campaign seeds", "campaign", "seeds", "--history", file)
    yield _prints("campaign seeds --targets", "campaign", "seeds", "--history", file, "--targets", "targets")
    yield _prints("campaign recheck", "campaign", "recheck", "--history", file)


def _earlier_nights(file: Path) -> Iterator[Output]:
    shard(Words(), Path("own"))
    yield _prints(
        "campaign merge --history", "campaign", "merge", "own", "--nights", "nights", "--history", file
    )
    yield from _night()


def _corpus(folder: Path) -> Iterator[Output]:
    yield _prints("corpus check", "corpus", "check", folder)


def _foreign(folder: Path) -> Iterator[Output]:
    for name in ("jepsen.json", "keyed.json", "jepsen.edn", "broken.json"):
        yield _prints(f"recheck {name}", "recheck", "--model", "register", folder / name)
        yield _prints(f"export {name}", "export", "--to", "jepsen-edn", folder / name, kind=Kind.HISTORY)
        yield _prints(f"import {name}", "import", "--model", "register", folder / name, kind=Kind.HISTORY)


def _target(folder: Path) -> Iterator[Output]:
    yield _prints("validate", "validate", folder)
    for file in sorted(folder.glob("*.toml")):
        yield _prints("validate a file", "validate", file)
    yield _prints("run", "run", *(file for file in folder.glob("*.toml") if file.name != "named.toml"))
    yield _prints("show no run", "show", "x", "--runs", folder / "runs")
    yield _prints("recheck no run", "recheck", "tt", "--runs", folder / "runs")


def _logs(folder: Path) -> Iterator[Output]:
    """A run that fails; its error has what the servers and clients have said."""
    from fuzzing.hostile.failing_runs import FAILURES, failing

    for number, name in enumerate(FAILURES):
        runs = Path("runs") / str(number)
        with failing(name, folder):
            yield _prints(name, "run", "etcd-postgres", "--engine", "local", "--runs", runs)
        for made in sorted(runs.glob("*/2*")):
            yield from _files(made, _OF_RUN)


Reader = Callable[[Path], Iterator[Output]]
READERS: dict[str, tuple[str, Reader]] = {
    "run": ("run", _run),
    "own run": ("run", _own_run),
    "run elsewhere": ("run", _run_elsewhere),
    "run for others": ("run", _run_for_others),
    "verdict": ("judged", _judged),
    "plugin": ("run", _plugin),
    "shard": ("shard", _shard),
    "shard on a terminal": ("shard", _shard_on_terminal),
    "results": ("results", _results),
    "earlier nights": ("results", _earlier_nights),
    "corpus": ("corpus", _corpus),
    "foreign": ("foreign", _foreign),
    "target": ("target", _target),
    "logs": ("logs", _logs),
}
"""What is read in which way: the subject, and its reader."""
