"""A shard as it arrives, perhaps from another machine: read, and checked before anything is copied.

What it says about how its runs ended is a claim, which is only compared with a judgment made here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from checkers.text import limits
from checkers.vocabulary.document import VerdictDocument
from harness.campaign.execution import LAST_WORDS, LOGS, RUNS, Finished
from harness.campaign.night import RESULTS, Night
from harness.campaign.schedule import REPRODUCTIONS, Job
from harness.core.errors import ConfigurationError
from harness.files import received, run_files
from harness.files.received import components
from harness.files.run_folder import VERDICT
from harness.report.run_junit import NAME as JUNIT

REJUDGED = {VERDICT, JUNIT, run_files.REPORT}
"""The files of a run that judging it writes again."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a shard says about a run."""

    finished: Finished  # without the verdict
    verdict: str | None
    anomalies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that was checked."""

    night: Night
    claims: tuple[Claim, ...]
    files: tuple[tuple[str, ...], ...]  # the components of each that can be copied

    @property
    def folders(self) -> list[str]:
        """The folders of its runs."""
        return [claim.finished.folder for claim in self.claims if claim.finished.folder]

    @property
    def size(self) -> int:
        """The bytes of what can be copied. Holes count: not every disk keeps them."""
        return sum(received.size_of(self.night.path, *names) for names in self.files)

    def copy(self, to: Path) -> None:
        """Copy the recordings of its runs, and their logs."""
        for names in self.files:
            received.copy(self.night.path, names, to, most=limits.HISTORY)


def read(folder: Path) -> Shard:
    """Read a shard.

    Raises ConfigurationError or HistoryError if it is not what a campaign writes, or names anything that
    is not in it.
    """
    night = Night.read(folder)
    ended = night.finished()
    _check_jobs(night, ended)
    claims = tuple(_claim(finished, night) for finished in ended)
    folders = [finished.folder for finished in ended if finished.folder]
    for name, number in Counter(folders).items():
        if number > 1:
            raise ConfigurationError(f"{night.path / RESULTS}: two runs cannot be in the folder {name}")
    found = tuple(_files(night.path, folders))
    here = replace(night, path=folder.resolve())  # the link `latest` may soon lead elsewhere
    return Shard(here, claims, found)


def _files(path: Path, folders: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for folder in folders:
        run_files.check(path / folder)
        for names in received.regular_files(path, *components(folder, path), most=limits.HISTORY):
            if names[-1] not in REJUDGED:
                yield names
    yield from received.regular_files(path, LOGS, most=limits.HISTORY)


def _claim(finished: Finished, night: Night) -> Claim:
    try:
        document = finished.verdict and msgspec.convert(finished.verdict, VerdictDocument)
    except msgspec.ValidationError as error:
        why = f"the verdict on {finished.job.id} is not one of Fencepost: {error}"
        raise ConfigurationError(f"{night.path}: {why}") from None
    message, sentence = finished.message[-LAST_WORDS:], finished.error[:LAST_WORDS]
    bare = replace(finished, verdict=None, message=message, error=sentence, not_judged="", differences="")
    if not document:
        return Claim(bare, None, {})
    return Claim(bare, document.verdict, {name: count for name, count in document.anomalies.items() if count})


def _check_jobs(night: Night, ended: Sequence[Finished]) -> None:
    """Raise ConfigurationError unless every run is one of the plan, with its folder in its place."""
    planned = {_seed(job) for job in night.plan.jobs}
    for finished in ended:
        job, folder = finished.job, finished.folder
        if _seed(job) not in planned or job.reproduction > REPRODUCTIONS:
            raise ConfigurationError(f"{night.path}: its plan has no run {job.id} with the seed {job.seed}")
        if folder and components(folder, night.path)[1:-1] != (job.cell,):
            where = f"a folder of {RUNS}/{job.cell}"
            raise ConfigurationError(f"{night.path}: the run {job.id} cannot be in {folder}, but in {where}")


def _seed(job: Job) -> tuple[str, int, int]:
    return job.cell, job.repeat, job.seed
