"""Run cases up to a number or a time; each failing one is kept with its output."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from checkers.printable import printable
from fuzzing.edits import EDITS, Edit, edited
from fuzzing.sandbox import MOST_MEMORY, Outcome, run
from fuzzing.surfaces import SURFACES, Files, Surface
from harness.report import run as report

DOCUMENTED = {0, 1, 2, 4, 5}
"""The exit codes of commands that start no server."""
LARGEST_REPORT = 10_000_000
"""Bytes."""
_BATCH = 100  # cases of a surface before the next surface
_MOST_SAID = 10_000_000  # characters
_REMOVED = 20  # in one of this many cases, a file is removed instead of edited; never the first


@dataclass(frozen=True, slots=True)
class Case:
    """A hostile input, and the way to pass it to the reader."""

    files: Files
    way: int


@dataclass(slots=True)
class Tally:
    """The results of a campaign."""

    cases: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0  # seconds of processor time
    largest: int = 0  # bytes of memory
    findings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        cases = ", ".join(f"{name} {number:,}" for name, number in self.cases.items())
        codes = ", ".join(f"{code}: {number:,}" for code, number in sorted(self.codes.items()))
        return (
            f"{self.cases.total():,} cases ({cases}); {len(self.findings)} findings; exit codes {codes}; "
            f"slowest {self.slowest:.2f} s of processor time, largest {self.largest / (1 << 20):,.0f} MiB"
        )


def campaign(
    names: Iterable[str], seed: int, keep: Path, *, cases: int | None, seconds: float | None
) -> Tally:
    """Attack surfaces in turn until `cases` were tried or `seconds` have passed, whichever is given."""
    tally = Tally()
    ends = None if seconds is None else time.monotonic() + seconds
    names = tuple(names)
    with _own_environment() as scratch:
        _warm_up(names)
        turn = 0
        while _goes_on(tally, cases, ends):
            name = names[turn % len(names)]
            left = _BATCH if cases is None else min(_BATCH, cases - tally.cases.total())
            _batch(name, f"{seed}/{turn}", left, ends, Trial(scratch, keep, tally))
            turn += 1
    return tally


def _goes_on(tally: Tally, cases: int | None, ends: float | None) -> bool:
    return (cases is None or tally.cases.total() < cases) and (ends is None or time.monotonic() < ends)


@dataclass(frozen=True, slots=True)
class Trial:
    """Tries cases, and keeps those that fail."""

    scratch: Path
    keep: Path
    tally: Tally

    def __call__(self, name: str, case: Case) -> None:
        """Try one case."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            _write(case.files, folder)
            outcome = run(lambda: SURFACES[name].act(case.way), folder)
            self.tally.cases[name] += 1
            self.tally.codes[outcome.code] += 1
            self.tally.slowest = max(self.tally.slowest, outcome.seconds)
            self.tally.largest = max(self.tally.largest, outcome.memory)
            if why := wrong(outcome, folder):
                self._keep(name, case, why, outcome)
        finally:
            shutil.rmtree(folder)

    def _keep(self, name: str, case: Case, why: str, outcome: Outcome) -> None:
        last = (outcome.said.strip().splitlines() or [""])[-1]
        frame = [line for line in outcome.said.splitlines() if line.lstrip(" |").startswith("File ")][-1:]
        found = f"{name}: {why}: {printable(''.join(frame)).strip()} {printable(last)[:200]}"
        if found in self.tally.findings:
            return
        self.tally.findings.append(found)
        folder = self.keep / f"{name}-{hashlib.sha256(found.encode()).hexdigest()[:12]}"
        _write(case.files, folder)
        (folder / "WHY").write_text(
            f"{found}\nway {case.way}\n\n{outcome.said[:100_000]}", errors="backslashreplace"
        )


def wrong(outcome: Outcome, folder: Path) -> str | None:
    """Say what a case did that it must not do; None if nothing."""
    if outcome.hung:
        return "hang"
    if outcome.memory > MOST_MEMORY or "MemoryError" in outcome.said:
        return "memory"
    if "Traceback" in outcome.said or "this is a bug" in outcome.said:
        return "traceback"
    if outcome.code not in DOCUMENTED:
        return f"exit code {outcome.code}"
    commands = any(line.lstrip().startswith("::") for line in outcome.said.splitlines())
    if commands or printable(outcome.said, keep="\n\t") != outcome.said:
        return "text that acts on the terminal or on a CI server"
    if len(outcome.said) > _MOST_SAID:
        return "endless output"
    report = folder / "report.html"
    if report.exists() and report.stat().st_size > LARGEST_REPORT:
        return "a report over 10 MB"
    return None


def _batch(name: str, seed: str, most: int, ends: float | None, trial: Trial) -> None:
    """Let Hypothesis draw cases of one surface; nothing is raised, so it does not stop early."""
    surface = SURFACES[name]
    tried = 0

    @seeded(seed)
    @settings(
        max_examples=most,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases(surface))
    def attack(case: Case) -> None:
        nonlocal tried
        if tried < most and (ends is None or time.monotonic() < ends):
            tried += 1
            trial(name, case)

    attack()


def _cases(surface: Surface) -> st.SearchStrategy[Case]:
    return st.builds(
        _case,
        st.sampled_from(surface.seeds()),
        st.integers(0, 1_000),
        st.lists(st.tuples(st.integers(0, 1_000), EDITS), min_size=1, max_size=2),
    )


def _case(files: Files, way: int, edits: list[tuple[int, list[Edit]]]) -> Case:
    hostile = dict(files)
    for chosen, changes in edits:
        name = list(files)[chosen % len(files)]
        if len(files) > 1 and chosen % _REMOVED == 0 and name != next(iter(files)):
            hostile.pop(name, None)
        elif name in hostile:
            hostile[name] = edited(hostile[name], changes)
    return Case(hostile, way)


def _write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def _own_environment() -> Iterator[Path]:
    """Yield a folder for everything that cases write, without the user's browser, notes and cache."""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    with tempfile.TemporaryDirectory() as folder:
        own = {name: f"{folder}/{name}" for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR")}
        for path in own.values():
            Path(path).mkdir(mode=0o700)
        with patch.dict(os.environ, kept | own, clear=True):
            yield Path(folder)


_NEEDED = (
    "harness.cli.app",
    "harness.cli.foreign_histories",
    "harness.cli.recheck_history",
    "harness.cli.schemas",
    "harness.cli.selection",
    "harness.run.show",
    "harness.target",
)


def _warm_up(names: Iterable[str]) -> None:
    """Import and compile everything that cases need once, before forking."""
    for module in _NEEDED:
        import_module(module)
    report.template()
    for name in names:
        SURFACES[name].seeds()
    gc.collect()
    gc.freeze()  # collections in a child then do not touch the shared memory
