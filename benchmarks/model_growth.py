"""How time and memory grow with a history that is judged by a model: the worst files that we know.

    .venv/bin/python -m benchmarks.model_growth [--sizes 30,2000,100000] [--models set,counter]

Each file is judged by `fencepost recheck FILE --model MODEL`, from the start of the command to its end,
with the explanation of what it finds; other work on the machine hardly changes processor time. A new
shape is a function in `SHAPES`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SIZES = (30, 100, 2_000, 100_000)
_VERDICTS = {0: "valid", 1: "invalid", 2: "unknown"}
_TIMEOUT = 300  # s


class Event(NamedTuple):
    """A line of a history in EDN."""

    type: str
    process: int
    f: str
    value: str

    def __str__(self) -> str:
        return f"{{:type :{self.type}, :process {self.process}, :f :{self.f}, :value {self.value}}}"


Events = Iterator[Event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """The operations on an object: each change has a number."""

    change: Callable[[int], tuple[str, str]]  # f, value
    read: Callable[[range], tuple[str, str]]  # after the changes with these numbers, one after another
    wrong: tuple[str, str]  # a read that nothing explains


def _set(numbers: range) -> str:
    return f"#{{{' '.join(map(str, numbers))}}}"


OBJECTS = {
    "register": Object(
        change=lambda i: ("write", str(max(i, 1))),  # one value twice, or no search is needed
        read=lambda done: ("read", str(done[-1] if done else "nil")),
        wrong=("read", "-1"),
    ),
    "cas-register": Object(
        change=lambda i: ("cas", f"[{i} {i + 1}]") if i else ("write", "1"),
        read=lambda done: ("read", str(done[-1] + 1 if done else "nil")),
        wrong=("read", "-1"),
    ),
    "set": Object(
        change=lambda i: ("add", str(i)),
        read=lambda done: ("read", _set(done)),
        wrong=("read", "#{-1}"),
    ),
    "counter": Object(
        change=lambda i: ("add", str(3 * i + 1)),
        read=lambda done: ("read", str(sum(3 * i + 1 for i in done))),
        wrong=("read", "2"),
    ),
    "kv": Object(
        change=lambda i: ("append", f'"{i};"'),
        read=lambda done: ("get", f'"{"".join(f"{i};" for i in done)}"'),
        wrong=("get", '"x"'),
    ),
}
"""Objects whose changes differ from each other."""


def _call(process: int, change: tuple[str, str]) -> Event:
    f, value = change
    return Event("invoke", process, f, value)


def _read(process: int, answer: tuple[str, str]) -> Events:
    f, value = answer
    yield Event("invoke", process, f, "nil")
    yield Event("ok", process, f, value)


def _answer(call: Event, how: str = "ok") -> Event:
    return call._replace(type=how)


def disjoint_reads(one: Object, size: int) -> Events:
    """All changes at once; while they are in progress, two reads of different halves."""
    calls = [_call(i, one.change(i)) for i in range(size - 2)]
    yield from calls
    yield from _read(size, one.read(range(size // 2)))
    yield from _read(size, one.read(range(size // 2, size - 2)))
    yield from map(_answer, calls)


def one_read(one: Object, size: int) -> Events:
    """All changes at once; while they are in progress, a read that half of them explain."""
    calls = [_call(i, one.change(i)) for i in range(size - 1)]
    yield from calls
    yield from _read(size, one.read(range(size // 2)))
    yield from map(_answer, calls)


def slow_read(one: Object, size: int) -> Events:
    """As `one_read`, but the read takes until half of the changes have returned, and nothing explains it."""
    calls = [_call(i, one.change(i)) for i in range(size - 1)]
    f, value = one.wrong
    yield from calls
    yield Event("invoke", size, f, "nil")
    yield from map(_answer, calls[: size // 2])
    yield Event("ok", size, f, value)
    yield from map(_answer, calls[size // 2 :])


def no_answers(one: Object, size: int) -> Events:
    """Changes without an answer; then a read that half of them explain, and one that nothing explains."""
    yield from (_call(i, one.change(i)) for i in range(size - 2))
    yield from _read(size, one.read(range(size // 2)))
    yield from _read(size, one.wrong)


def lost_answers(one: Object, size: int) -> Events:
    """Every second change is answered by an info; the others come one after another; wrong at the end."""
    for i in range(size - 1):
        call = _call(i, one.change(i))
        yield call
        yield _answer(call, "ok" if i % 2 else "info")
    yield from _read(size, one.wrong)


def one_by_one(one: Object, size: int) -> Events:
    """Changes one after another; wrong at the end."""
    for i in range(size - 1):
        call = _call(0, one.change(i))
        yield from (call, _answer(call))
    yield from _read(1, one.wrong)


def few_at_once(one: Object, size: int) -> Events:
    """Ten changes at a time; wrong at the end."""
    for start in range(0, size - 1, 10):
        calls = [_call(i % 10, one.change(i)) for i in range(start, min(start + 10, size - 1))]
        yield from (*calls, *map(_answer, calls))
    yield from _read(10, one.wrong)


SHAPES = (disjoint_reads, one_read, slow_read, no_answers, lost_answers, one_by_one, few_at_once)


def holds(model: str, size: int) -> Events:
    """Locks: all clients ask at once, and are granted the lock one after another; wrong at the end."""
    calls = [Event("invoke", i, "acquire", "nil") for i in range(size // 2)]
    yield from calls
    for number, call in enumerate(calls):
        yield _grant(model, call, number + 1)
        yield from (call._replace(f="release"), Event("ok", call.process, "release", "nil"))
    yield from (Event("invoke", size, "release", "nil"), Event("ok", size, "release", "nil"))


def lost_releases(model: str, size: int) -> Events:
    """Locks: each client is granted the lock, and its release has no answer; wrong at the end."""
    for i in range(size // 2):
        call = Event("invoke", i, "acquire", "nil")
        yield from (call, _grant(model, call, i + 1))
        yield from (call._replace(f="release"), Event("info", i, "release", "nil"))
    yield from (Event("invoke", size, "release", "nil"), Event("ok", size, "release", "nil"))


def lost_acquires(model: str, size: int) -> Events:
    """Locks: half of the acquires have no answer, others overlap with their releases; wrong at the end."""
    for i in range(size // 4):
        yield Event("invoke", i, "acquire", "nil")
    for start in range(size // 4, size, 10):
        calls = [Event("invoke", i, "acquire", "nil") for i in range(start, start + 5)]
        yield from calls
        for number, call in enumerate(calls):
            yield _grant(model, call, start + number)
            yield call._replace(f="release")
        yield from (Event("ok", call.process, "release", "nil") for call in calls)
    yield from (Event("invoke", size + 10, "release", "nil"), Event("ok", size + 10, "release", "nil"))


def _grant(model: str, call: Event, token: int) -> Event:
    fenced = "fenced" in model
    return call._replace(type="ok", value=f"{{:fence {token}}}" if fenced else "nil")


LOCKS = ("mutex", "owned-mutex", "fenced-mutex", "reentrant-mutex", "reentrant-fenced-mutex")
LOCK_SHAPES = (holds, lost_releases, lost_acquires)


def histories(size: int) -> Iterator[tuple[str, str, Events]]:
    """Every model with every shape."""
    for (model, one), shape in itertools.product(OBJECTS.items(), SHAPES):
        yield model, shape.__name__, shape(one, size)
    for model, lock_shape in itertools.product(LOCKS, LOCK_SHAPES):
        yield model, lock_shape.__name__, lock_shape(model, size)


def main() -> None:
    """Measure every history, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--models", default=",".join((*OBJECTS, *LOCKS)))
    parser.add_argument("--shapes", default="")
    given = parser.parse_args()
    print("| model | history | operations | verdict | processor time | memory |")
    print("|---|---|--:|---|--:|--:|")
    for size in map(int, given.sizes.split(",")):
        for model, shape, events in histories(size):
            if model in given.models.split(",") and shape in (
                given.shapes.split(",") if given.shapes else [shape]
            ):
                verdict, seconds, mebibytes = _rechecked(model, events)
                row = f"| {model} | {shape.replace('_', ' ')} | {size:,} | {verdict} |"
                print(f"{row} {seconds:.1f} s | {mebibytes:,} MiB |", flush=True)


def _rechecked(model: str, events: Events) -> tuple[str, float, int]:
    """The verdict of the command, its processor time in seconds, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.edn"
        path.write_text("\n".join(map(str, events)) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "harness.cli", "recheck", str(path), "--model", model]
        with subprocess.Popen(
            ["timeout", str(_TIMEOUT), *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    code = process.returncode
    seconds = usage.ru_utime + usage.ru_stime
    return _VERDICTS.get(code, f"exit code {code}"), seconds, usage.ru_maxrss // 1024


if __name__ == "__main__":
    main()
