"""A night's folder: its plan, a line for each run that has ended, and the files made from them.

`nights/<name>/<time>-<id>/` has `plan.json` from the start, and `results.jsonl` gets one line per
run, which is on the disk before the next run starts. So a campaign can be resumed however it ended:
runs that had ended count, and all others are made again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from checkers.document import VerdictDocument
from checkers.history import limits
from checkers.printable import as_json, shorten
from checkers.redaction import redacted
from harness.campaign.cells import Cell
from harness.campaign.execution import LOGS, RUNS, TARGETS, Finished, was_interrupted
from harness.campaign.replay import replay
from harness.campaign.schedule import Job
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import of_verdict
from harness.files import dated_folders, received, run_files
from harness.files.atomic_files import replace_file
from harness.files.dated_folders import NAMED_BY
from harness.files.received import component, components
from harness.files.run_folder import HEADER, VERDICT

PLAN = "plan.json"
RESULTS = "results.jsonl"
CAMPAIGN = "campaign.toml"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a night will run; written before the first run."""

    version: int = msgspec.field(name="schema", default=1)
    campaign: str
    started: str  # ISO 8601, UTC
    engine: str
    fencepost: str  # the version
    git_commit: str | None
    file: str = ""  # the campaign file, absolute
    shard: str = ""  # such as "2/5"; "": all of it
    missing: list[str] = []  # shards that were not there when the others were joined
    canary: str = ""  # the planted bug that must be found; "": none
    cells: list[Cell]
    jobs: list[Job]


@dataclass(frozen=True, slots=True)
class Night:
    """One call of a campaign, with its folder."""

    path: Path
    plan: Plan

    @classmethod
    def create(cls, nights: Path, plan: Plan, source: str) -> Night:
        """Make the folder of a night, with its plan and its targets."""
        try:
            path = dated_folders.create(nights / plan.campaign, TARGETS, RUNS, LOGS)
        except OSError as error:
            raise ConfigurationError(
                f"{nights}: cannot hold the nights: {error.strerror}; name another folder with --nights"
            ) from None
        night = cls(path, plan)
        for cell in plan.cells:
            replace_file(path / TARGETS / f"{cell.name}.toml", [cell.source])
        replace_file(path / CAMPAIGN, [redacted(source)])
        replace_file(path / PLAN, [msgspec.json.format(msgspec.json.encode(plan), indent=1).decode()])
        return night

    @classmethod
    def read(cls, path: Path) -> Night:
        """Read the folder of a night.

        Raises ConfigurationError if it is not one.
        """
        try:
            raw = received.read(path, PLAN, most=limits.NIGHT)
            if raw is None:
                raise ConfigurationError(f"{path} is not the folder of a campaign: it has no {PLAN}")
            plan = msgspec.json.decode(raw, type=Plan)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ConfigurationError(
                f"{path} is not the folder of a campaign: {PLAN}: {shorten(str(error))}"
            ) from None
        for name in (plan.campaign, *(cell.name for cell in plan.cells), *(job.cell for job in plan.jobs)):
            component(name, path / PLAN)
        return cls(path, plan)

    @property
    def source(self) -> str:
        """The campaign file, as the night has kept it."""
        return (received.read(self.path, CAMPAIGN, most=limits.DOCUMENT) or b"").decode(errors="replace")

    @classmethod
    def latest(cls, nights: Path, name: str) -> Night:
        """Read the newest night of a campaign."""
        newest = dated_folders.latest(nights / name)
        if newest is None:
            raise ConfigurationError(f"{nights} has no night of {name} to resume")
        return cls.read(newest.resolve())

    def in_use(self) -> AbstractContextManager[None]:
        """Keep other campaigns from resuming this night while it is in progress."""
        return dated_folders.in_use(self.path, f"{self.path}: this campaign is in progress")

    def record(self, finished: Finished) -> None:
        """Add a run that has ended; on the disk before this returns."""
        with (self.path / RESULTS).open("a+b") as results:
            line = as_json(msgspec.to_builtins(finished)).encode() + b"\n"
            results.write(_line_end_missing(results) + line)
            results.flush()
            os.fsync(results.fileno())

    def finished(self) -> tuple[Finished, ...]:
        """Return the runs that have ended, each once, in the order of their ends."""
        found: dict[str, Finished] = {}
        for finished in self._recorded():
            if not was_interrupted(finished):
                found.setdefault(finished.job.id, finished)
        return tuple(found.values())

    def _recorded(self) -> Iterator[Finished]:
        for line in (received.read(self.path, RESULTS, most=limits.NIGHT) or b"").splitlines():
            with suppress(msgspec.DecodeError, RecursionError):  # cut short by a kill
                finished = msgspec.json.decode(line, type=Finished)
                self._check(finished.folder)
                yield finished

    def _check(self, folder: str | None) -> None:
        """A night may come from another machine: every folder that it names must be one of its runs."""
        if folder and components(folder, self.path / RESULTS)[0] != RUNS:
            raise ConfigurationError(f"{self.path / RESULTS}: the run {folder} is outside of {RUNS}/")

    def adopt(self) -> None:
        """Record the runs that had been judged when the campaign was killed, before it could record them."""
        known = {finished.folder for finished in self.finished()}
        waiting = {(job.cell, job.seed): job for job in self.open_jobs()}
        for names in self._runs():
            if "/".join(names) in known:
                continue
            found = _judged(self.path, names, waiting)
            if found and not was_interrupted(found):
                self.record(found)
                del waiting[found.job.cell, found.job.seed]

    def _runs(self) -> Iterator[tuple[str, ...]]:
        """The components of every run's folder; `latest` is a link."""
        for target in received.listed(self.path, RUNS):
            for name in received.listed(self.path, RUNS, target):
                if received.is_folder(self.path, RUNS, target, name):
                    yield RUNS, target, name

    def replay(self, finished: Finished, *, from_here: bool = False) -> str | None:
        """Write the line that repeats a run; None for one without a folder.

        It works in any folder; `from_here`: in the folder of the night, which may have been moved.
        """
        if finished.folder is None:
            return None
        return replay(
            self.path / finished.folder,
            finished.job.seed,
            version=self.plan.fencepost,
            commit=self.plan.git_commit,
            within=self.path if from_here else None,
        )

    def open_jobs(self) -> tuple[Job, ...]:
        """Return the runs of the plan that have not ended."""
        ended = {finished.job.id for finished in self.finished()}
        return tuple(job for job in self.plan.jobs if job.id not in ended)


def _line_end_missing(file: BinaryIO) -> bytes:
    """Return the end of a last line that a kill or a full disk cut short, so that it spoils no other."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    return b"" if file.read() in {b"", b"\n"} else b"\n"


def _judged(night: Path, names: tuple[str, ...], waiting: Mapping[tuple[str, int], Job]) -> Finished | None:
    """Make the result of a run from its folder; None unless it is among those waited for."""
    folder = night.joinpath(*names)
    try:
        header = run_files.document(folder, HEADER)
        verdict = run_files.document(folder, VERDICT)
        job = waiting[folder.parent.name, header["seed"]]
        began = datetime.strptime(folder.name.partition("-")[0], NAMED_BY).replace(tzinfo=UTC)
        ended = datetime.fromtimestamp((folder / VERDICT).stat().st_mtime, UTC)
        return Finished(
            job=job,
            exit_code=of_verdict(msgspec.convert(verdict, VerdictDocument)),
            started=began.isoformat(timespec="seconds"),
            seconds=(ended - began).total_seconds(),
            folder="/".join(names),
            verdict=verdict,
        )
    except (OSError, ValueError, KeyError, TypeError, msgspec.ValidationError):
        return None
