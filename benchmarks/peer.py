"""Porcupine, the Go checker, on the same histories: built from its module at a pinned version."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.history.records import History, Outcome

SOURCE = Path(__file__).parent / "porcupine"
_OUT_OF_MEMORY = 3  # its exit code


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Porcupine's result for one history."""

    file: str
    operations: int
    verdict: str  # valid, invalid, unknown (out of time) or out-of-memory
    seconds: float  # of the check alone
    peak_mib: int


def build(folder: Path) -> Path:
    """Build the program that judges files; FileNotFoundError without Go."""
    go = shutil.which("go")
    if go is None:
        raise FileNotFoundError("no go is on PATH")
    program = folder / "porcupine"
    subprocess.run([go, "build", "-trimpath", "-o", str(program), "."], cwd=SOURCE, check=True)
    return program


def module() -> Path:
    """Return the folder of Porcupine's own module, with its test data."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine"]
    listed = subprocess.run(command, cwd=SOURCE, check=True, stdout=subprocess.PIPE, text=True)
    return Path(listed.stdout.strip())


def judge(program: Path, model: str, files: Sequence[Path], *, seconds: float, mib: int) -> list[Result]:
    """Judge files one after another, each with a timeout; needing more memory ends the program."""
    arguments = ["-model", model, "-timeout", f"{seconds}s", "-memory", str(mib), *map(str, files)]
    ended = subprocess.run([str(program), *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in {0, _OUT_OF_MEMORY}:
        raise subprocess.CalledProcessError(ended.returncode, ended.args)
    rows = map(json.loads, ended.stdout.splitlines())
    return [Result(**{name: row[name] for name in Result.__dataclass_fields__}) for row in rows]


def fenced_lines(history: History) -> Iterator[str]:
    """Yield the writes and reads of a history in the program's format of fenced registers.

    At equal times calls come before returns. A failure other than stale had no
    effect and is left out, as is a read without an answer.
    """
    moments: list[tuple[int, int, str]] = []
    for op in history.operations:
        stale = op.outcome is Outcome.FAIL and op.error == "stale"
        if op.f not in {"write", "read"} or not (op.outcome is not Outcome.FAIL or stale):
            continue
        if op.f == "read" and op.outcome is not Outcome.OK:
            continue
        answered = f"\t{op.token}\t{_text(op.value)}"
        asked = answered if op.f == "write" else ""
        moments.append((op.called, 0, f"{op.process}\tinvoke\t{op.f}\t{op.resource}{asked}\n"))
        if op.returned is not None:
            answer = answered if op.f == "read" else ""
            moments.append((op.returned, 1, f"{op.process}\t{op.outcome}\t{op.f}{answer}\n"))
    return (line for *_, line in sorted(moments))


def _text(value: object) -> str:
    return "" if value is None else str(value)
