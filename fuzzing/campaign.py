"""Run cases up to a number or a time; each failing one is kept with its output."""

from __future__ import annotations

import gc
import hashlib
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from checkers.text.printable import printable
from fuzzing.edits import EDITS, Edit, edited
from fuzzing.hostile import ATTACKS, Case
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
class Edited:
    """A valid input that was edited, and the way to pass it to the reader."""

    surface: Surface
    files: Files
    way: int
    codes: Collection[int] = frozenset(DOCUMENTED)

    def __str__(self) -> str:
        return f"way {self.way}"

    def write(self, folder: Path) -> None:
        """Write the files."""
        _write(self.files, folder)

    def act(self) -> int:
        """Pass them to the reader."""
        return self.surface.act(self.way)

    def broken(self, _folder: Path, _outcome: Outcome) -> Iterable[str]:
        """Nothing else is forbidden."""
        return ()


@dataclass(slots=True)
class Tally:
    """The results of a campaign."""

    cases: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0  # seconds of processor time
    largest: int = 0  # bytes of memory
    findings: list[str] = field(default_factory=list)  # each with the first case that shows it
    known: set[str] = field(default_factory=set)  # the findings without their cases

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
    with warm(names) as scratch:
        turn = 0
        while _goes_on(tally, cases, ends):
            name = names[turn % len(names)]
            left = _BATCH if cases is None else min(_BATCH, cases - tally.cases.total())
            batch = _batch if name in SURFACES else _hostile_batch
            batch(name, f"{seed}/{turn}", left, ends, Trial(scratch, keep, tally))
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
            case.write(folder)
            outcome = run(case.act, folder)
            self.tally.cases[name] += 1
            self.tally.codes[outcome.code] += 1
            self.tally.slowest = max(self.tally.slowest, outcome.seconds)
            self.tally.largest = max(self.tally.largest, outcome.memory)
            if why := wrong(outcome, folder, case.codes):
                said = outcome.said.splitlines() or [""]
                frames = [line.strip() for line in said if line.lstrip(" |").startswith("File ")]
                place = " ".join([*frames[-1:], said[-1]])
                self._keep(name, case, f"{why}: {place}", outcome)
            for why in case.broken(folder, outcome):
                self._keep(name, case, why, outcome)
        finally:
            _remove(folder)

    def _keep(self, name: str, case: Case, why: str, outcome: Outcome) -> None:
        found = f"{name}: {printable(why)[:400]}"
        if found in self.tally.known:
            return
        self.tally.known.add(found)
        self.tally.findings.append(f"{found} ({case})")
        folder = self.keep / f"{name}-{hashlib.sha256(found.encode()).hexdigest()[:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        _write(case.files, folder)
        (folder / "WHY").write_text(f"{found}\n{case}\n\n{outcome.said[:100_000]}", errors="backslashreplace")


def wrong(outcome: Outcome, folder: Path, documented: Collection[int] = frozenset(DOCUMENTED)) -> str | None:
    """Say what a case did that it must not do; None if nothing."""
    if outcome.hung:
        return "hang"
    if outcome.memory > MOST_MEMORY or "MemoryError" in outcome.said:
        return "memory"
    if "Traceback" in outcome.said or "this is a bug" in outcome.said:
        return "traceback"
    if outcome.code not in documented:
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


def _hostile_batch(name: str, seed: str, most: int, ends: float | None, trial: Trial) -> None:
    """Try cases that an attack draws itself."""
    for case in ATTACKS[name].draw(most, random.Random(seed)):
        if ends is not None and time.monotonic() >= ends:
            return
        trial(name, case)


def _cases(surface: Surface) -> st.SearchStrategy[Case]:
    return st.builds(
        partial(_case, surface),
        st.sampled_from(surface.seeds()),
        st.integers(0, 1_000),
        st.lists(st.tuples(st.integers(0, 1_000), EDITS), min_size=1, max_size=2),
    )


def _case(surface: Surface, files: Files, way: int, edits: list[tuple[int, list[Edit]]]) -> Edited:
    hostile = dict(files)
    for chosen, changes in edits:
        name = list(files)[chosen % len(files)]
        if len(files) > 1 and chosen % _REMOVED == 0 and name != next(iter(files)):
            hostile.pop(name, None)
        elif name in hostile:
            hostile[name] = edited(hostile[name], changes)
    return Edited(surface, hostile, way)


def _remove(folder: Path) -> None:
    """Remove what a case has left, however deep it is."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        subprocess.run(["rm", "-rf", "--", folder], check=True)


def _write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@contextmanager
def warm(names: Iterable[str]) -> Iterator[Path]:
    """Get ready for cases of some surfaces; yield a folder for everything that they write."""
    with _own_environment() as scratch:
        _warm_up(names)
        yield scratch


@contextmanager
def _own_environment() -> Iterator[Path]:
    """Yield a folder for everything that cases write, without the user's browser, notes and cache."""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    folder = tempfile.mkdtemp()
    try:
        own = {name: f"{folder}/{name}" for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR")}
        for path in own.values():
            Path(path).mkdir(mode=0o700)
        with patch.dict(os.environ, kept | own, clear=True), patch("os.fsync"):  # nothing has to last
            yield Path(folder)
    finally:
        _remove(Path(folder))


_NEEDED = (
    "harness.cli.app",
    "harness.cli.foreign_histories",
    "harness.cli.recheck_history",
    "harness.cli.schemas",
    "harness.cli.selection",
    "harness.run.show",
    "harness.spec",
)


def _warm_up(names: Iterable[str]) -> None:
    """Import and compile everything that cases need once, before forking."""
    for module in _NEEDED:
        import_module(module)
    report.template()
    for name in names:
        if name in SURFACES:
            SURFACES[name].seeds()
        else:
            ATTACKS[name].warm_up()
    gc.collect()
    gc.freeze()  # collections in a child then do not touch the shared memory
