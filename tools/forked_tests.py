"""Tests of mutants in forks of one pytest process.

To start pytest takes longer than the tests that catch a mutant. So pytest collects once, and each mutant is
active in a fork of that process, which runs the tests that reach the mutated function, until one fails.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import pkgutil
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path

import pytest
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

COPY = Path("mutants").absolute()
RESULTS = COPY / "results.jsonl"
REACHED = COPY / "reached.jsonl"
REJECTED, CAUGHT, TIMED_OUT, SURVIVED, UNREACHED = "mypy", "caught", "timed out", "survived", "not reached"
ESCAPED = {SURVIVED, UNREACHED}
MEMORY = 4 << 30  # bytes; a mutant may allocate for ever


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a function; the hash is the function's."""

    name: str
    function: str
    hash: str

    @property
    def module(self) -> str:
        """The module that it changes."""
        return self.function.rpartition(".")[0]


def note(results: dict[Mutant, str], caught_by: str = "", seconds: float = 0) -> None:
    """Append results to the file."""
    with RESULTS.open("a", encoding="utf-8") as file:
        for mutant, result in results.items():
            file.write(f"{json.dumps([astuple(mutant), result, caught_by, round(seconds, 2)])}\n")


@dataclass(eq=False)  # pytest puts plugins into sets
class ForkedTests:
    """A plugin of pytest: runs the collected tests once for each mutant."""

    todo: list[Mutant]
    seconds: float  # of processor time, for the tests of one mutant
    tests: dict[str, pytest.Item] = field(default_factory=dict)
    reached: defaultdict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    caught: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failed: bool = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests without a mutant, then with each."""
        if session.testsfailed:
            raise session.Interrupted("some tests cannot be collected")
        self.tests = {item.nodeid: item for item in session.items}
        for module in pkgutil.walk_packages(["checkers"], "checkers."):
            importlib.import_module(module.name)
        gc.freeze()  # forks share what they do not collect
        self._measure()
        begun = time.monotonic()
        for number, mutant in enumerate(self.todo, start=1):
            self._judge(mutant)
            if number % 50 == 0:
                each = (time.monotonic() - begun) / number
                print(f"{number} of {len(self.todo)} mutants tested, {each:.2f} s each", flush=True)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notice a failure."""
        self.failed |= report.failed

    def _measure(self) -> None:
        """Which functions each test reaches, and its CPU seconds, unless an earlier run measured it."""
        lines = REACHED.read_text(encoding="utf-8").splitlines() if REACHED.exists() else []
        known = {(name, changed): measured for name, changed, *measured in map(json.loads, lines)}
        for name, test in self.tests.items():
            key = name, test.path.stat().st_mtime
            if key not in known:
                known[key] = self._measured(name)
                with REACHED.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps([*key, *known[key]])}\n")
            functions, spent = known[key]
            for function in functions:
                self.reached[function][name] = spent

    def _measured(self, name: str) -> list[object]:
        status, answer, spent = _fork(partial(self._functions_of, name), math.ceil(self.seconds))
        if status:
            print(f"\nleft out, it fails without a mutant or takes too long: {name}", flush=True)
        return [answer.split(), spent]

    def _functions_of(self, name: str) -> tuple[int, str]:
        set_mutant_under_test("stats")
        if self._fails(name):
            return 1, ""
        return 0, " ".join(state()._stats)  # noqa: SLF001 - the only way to ask

    def _fails(self, name: str) -> bool:
        test = self.tests[name]
        test.config.hook.pytest_runtest_protocol(item=test, nextitem=None)
        return self.failed

    def _judge(self, mutant: Mutant) -> None:
        tests = self._tests_of(mutant)
        if not tests:
            note({mutant: UNREACHED})
            return
        limit = math.ceil(5 + 4 * sum(tests.values()))
        status, caught_by, spent = _fork(partial(self._test, mutant, list(tests)), limit)
        self.caught[mutant.function][caught_by] += 1
        note({mutant: {0: SURVIVED, 1: CAUGHT}.get(status, TIMED_OUT)}, caught_by, spent)

    def _tests_of(self, mutant: Mutant) -> dict[str, float]:
        """The tests to run, with their seconds: first those that caught most mutants of the function."""
        caught, total = self.caught[mutant.function], 0.0
        subject = mutant.module.rpartition(".")[2].partition("_")[0].removesuffix("s")
        chosen: dict[str, float] = {}
        found = self.reached[mutant.function]
        for name in sorted(found, key=lambda name: (-caught[name], subject not in name, found[name])):
            spent = found[name]
            if not chosen or total + spent <= self.seconds:
                chosen[name] = spent
                total += spent
        return chosen

    def _test(self, mutant: Mutant, tests: list[str]) -> tuple[int, str]:
        set_mutant_under_test(mutant.name)
        caught_by = next(filter(self._fails, tests), "")
        return int(bool(caught_by)), caught_by


def _fork(function: Callable[[], tuple[int, str]], cpu_seconds: int) -> tuple[int, str, float]:
    """Call a function in a fork, which SIGXCPU ends in time: its status, its answer, and its CPU seconds."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            status, answer = function()
            os.write(writing, answer.encode())
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        answer = pipe.read()
    _, ended, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(ended), answer, used.ru_utime + used.ru_stime
