"""Which run folders of a campaign are kept whole; the others are reduced to a few small files.

A night of all runs reduces its own and those before it, and so do shards that are joined with their
campaign file. The runs of a shard are kept, because they are judged again where it is joined.

A reduced run has its verdict, junit.xml, plan, target and environment, but no history, events,
logs, report or file of its storage. Only runs that passed are reduced, together with all
repetitions of their seed. Files that no run writes are never removed, and no link is followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from checkers.text.errors import HistoryError
from harness.campaign.execution import RUNS, Finished
from harness.campaign.night import Night
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from harness.files import received, run_files
from harness.files.run_files import REPORT
from harness.files.run_folder import COMMITS, EVENTS, HEADER, HISTORY, LOGS, VERDICT
from harness.spec.storages import STORAGE_FILE

Keep = Literal["all", "failures"] | int
"""All runs; those that failed; or also the last passed runs of each cell."""


@dataclass(frozen=True, slots=True)
class _Run:
    cell: str
    folder: Path
    passed: bool


def reduce(night: Night, keep: Keep, most: int | None) -> int:
    """Reduce runs of a campaign's nights, this one included, and return how many.

    At most `most` bytes of run folders are kept: the oldest runs that passed are reduced first. Runs
    that did not pass are kept even if they alone are larger. A night in use is not touched.
    """
    with ExitStack() as locks:
        runs = [run for each in _nights(night, locks) for run in _runs(each)]
        chosen = list(_by_policy(runs, keep))
        if most is not None:
            chosen += _by_size([run for run in runs if run not in chosen], most)
        gone = [[received.remove(run.folder, *names) for names in _removable(run.folder)] for run in chosen]
        return sum(map(any, gone))


def _nights(night: Night, locks: ExitStack) -> Iterator[Night]:
    """Yield the nights of the same campaign, the oldest first."""
    nights = night.path.parent
    for name in received.listed(nights):
        path = nights / name
        if not received.is_folder(nights, name):
            continue
        with suppress(ConfigurationError, HistoryError):  # it is no night, or in use
            other = night if path == night.path else Night.read(path)
            if other.plan.campaign == night.plan.campaign and not other.plan.shard:
                other.finished()  # names only its own folders
                if other is not night:
                    locks.enter_context(other.in_use())
                yield other


def _runs(night: Night) -> Iterator[_Run]:
    finished = night.finished()
    failed = {each.job.key for each in finished if each.exit_code != ExitCode.AS_EXPECTED}
    for each in finished:
        if each.folder and _is_ours(night, each):
            yield _Run(each.job.cell, night.path / each.folder, each.job.key not in failed)


def _is_ours(night: Night, finished: Finished) -> bool:
    """Is this the folder that the run wrote, in its place?"""
    folder = night.path / str(finished.folder)
    names = folder.relative_to(night.path).parts
    try:
        return (
            names[0] == RUNS
            and received.is_folder(night.path, *names)
            and run_files.document(folder, HEADER).get("seed") == finished.job.seed
            and run_files.has(folder, VERDICT)
        )
    except HistoryError:
        return False


def _by_policy(runs: Sequence[_Run], keep: Keep) -> Iterator[_Run]:
    if keep == "all":
        return
    kept: dict[str, int] = {}
    for run in reversed(runs):
        if run.passed:
            kept[run.cell] = kept.get(run.cell, 0) + 1
            if keep == "failures" or kept[run.cell] > keep:
                yield run


def _by_size(runs: Sequence[_Run], most: int) -> Iterator[_Run]:
    sizes = {
        run.folder: sum(received.size_of(run.folder, *names) for names in _removable(run.folder))
        for run in runs
    }
    total = sum(sizes.values())
    for run in runs:
        if total <= most:
            return
        if run.passed:
            total -= sizes[run.folder]
            yield run


def _removable(folder: Path) -> Iterator[tuple[str, ...]]:
    """The components of the files of a run that its verdict does not need."""
    for name in (HISTORY, COMMITS, REPORT, STORAGE_FILE):
        yield (name,)
    for name, suffix in ((EVENTS, ".jsonl"), (LOGS, ".log")):
        if received.is_folder(folder, name):
            yield from ((name, each) for each in received.listed(folder, name) if each.endswith(suffix))
