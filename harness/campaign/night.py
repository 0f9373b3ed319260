"""A night's folder: its plan, a line for each run that has ended, and the files made from them.

`nights/<name>/<time>-<id>/` has `plan.json` from the start, and `results.jsonl` gets one line per
run, which is on the disk before the next run starts. So a campaign can be resumed however it ended:
runs that had ended count, and all others are made again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.printable import as_json, quoted
from checkers.text.redaction import redacted
from checkers.vocabulary.document import VerdictDocument
from harness.campaign import campaign_file
from harness.campaign.campaign_file import Campaign
from harness.campaign.cells import CampaignCell
from harness.campaign.execution import LOGS, RUNS, TARGETS, Finished, was_interrupted
from harness.campaign.replay import Replay, replay_of
from harness.campaign.schedule import Job
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import of_verdict
from harness.files import dated_folders, received, run_files
from harness.files.atomic_files import replace_file
from harness.files.dated_folders import NAMED_BY
from harness.files.logs import open_log
from harness.files.received import component, components
from harness.files.run_folder import HEADER, VERDICT
from harness.report.run_again import RunAgain

PLAN = "plan.json"
RESULTS = "results.jsonl"
CAMPAIGN = "campaign.toml"

T = TypeVar("T")
_RECORD = b'{"job":'
"""Every line of the results begins with it."""
_VERSION_PATTERN = r"[0-9][0-9A-Za-z.+!_-]{0,79}"
_COMMIT_PATTERN = r"([0-9a-f]{7,64}(-dirty)?)?"
_KIND_PATTERN = r"[\w.:+-]{1,200}"
_MOMENT_PATTERN = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(\+00:00)?"
_MOST = 2**63 - 1  # of any number: the results' file has no larger ones


class NightPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a night will run; written before the first run."""

    version: int = msgspec.field(name="schema", default=1)
    campaign: str
    started: str  # ISO 8601, UTC
    engine: str
    fencepost: str  # the version
    git_commit: str | None  # of Fencepost
    tested_commit: str | None = None  # of the repository that the campaign was started in
    file: str = ""  # the campaign file, absolute
    shard: str = ""  # such as "2/5"; "": all of it
    missing: list[str] = []  # shards that were not there when the others were joined
    joined: bool = False  # of shards, whose targets are never run here
    unlike: list[str] = []  # how the shards' cells differ from those of the user's campaign file
    not_compared: str = ""  # why that is not known
    canary: str = ""  # the planted bug that must be found; "": none
    cells: list[CampaignCell]
    jobs: list[Job]


@dataclass(frozen=True, slots=True)
class Night:
    """One call of a campaign, with its folder."""

    path: Path
    plan: NightPlan

    @classmethod
    def create(cls, nights: Path, plan: NightPlan, source: str | None) -> Night:
        """Make the folder of a night, with its plan, its targets, and the text of its campaign file."""
        path = dated_folders.create_or_say(
            nights / plan.campaign,
            *(TARGETS, RUNS, LOGS),
            refused=f"{nights}: cannot hold the nights",
            remedy="name another folder with --nights",
        )
        night = cls(path, plan)
        for cell in plan.cells:
            replace_file(path / TARGETS / f"{cell.name}.toml", [cell.source])
        if source is not None:
            replace_file(path / CAMPAIGN, [redacted(source)])
        replace_file(path / PLAN, [msgspec.json.format(msgspec.json.encode(plan), indent=1).decode()])
        return night

    @classmethod
    def read(cls, path: Path) -> Night:
        """Read the folder of a night. Raises ConfigurationError if it is not one."""
        try:
            raw = received.read_json(path, PLAN, most=limits.NIGHT)
        except HistoryError as error:
            raise ConfigurationError(
                f"{path} is not the folder of a campaign: {PLAN}: {error.problem}"
            ) from None
        if raw is None:
            raise ConfigurationError(f"{path} is not the folder of a campaign: it has no {PLAN}")
        plan = _decoded(raw, NightPlan, path / PLAN)
        _check(plan, path / PLAN)
        return cls(path, plan)

    @classmethod
    def latest(cls, nights: Path, name: str) -> Night:
        """Read the newest night of a campaign that joins no shards; ConfigurationError if there is none."""
        for folder in dated_folders.newest_first(nights / name):
            night = cls.read(folder.resolve())
            if not night.plan.joined:
                return night
        raise ConfigurationError(f"{nights} has no night of {name} to resume")

    @property
    def campaign(self) -> Campaign | None:
        """The campaign file that the night was made with; None for shards that were joined without one."""
        if self.plan.joined and not received.exists(self.path, CAMPAIGN):
            return None
        return campaign_file.load(self.path / CAMPAIGN)

    def in_use(self) -> AbstractContextManager[None]:
        """Keep other campaigns from resuming this night while it is in progress."""
        return dated_folders.in_use(self.path, f"{self.path}: this campaign is in progress")

    def record(self, finished: Finished) -> None:
        """Add a run that has ended; on the disk before this returns."""
        with open(open_log(self.path / RESULTS, read=True), "a+b") as results:  # noqa: PTH123 (a descriptor)
            line = as_json(msgspec.to_builtins(finished)).encode() + b"\n"
            results.write(_line_end_missing(results) + line)
            results.flush()
            os.fsync(results.fileno())

    def finished(self) -> tuple[Finished, ...]:
        """Return the runs that have ended, each once, in order; HistoryError if a line is none of a run."""
        found: dict[str, Finished] = {}
        for finished in self._recorded():
            if not was_interrupted(finished):
                found.setdefault(finished.job.id, finished)
        return tuple(found.values())

    def _recorded(self) -> Iterator[Finished]:
        file = self.path / RESULTS
        lines = (received.read_json(self.path, RESULTS, most=limits.NIGHT) or b"").splitlines()
        for number, line in enumerate(lines, start=1):
            if not (line.startswith(_RECORD) and _is_cut(line)):
                finished, place = _decoded(line, Finished, file, number), f"{file}:{number}"
                folder = finished.folder  # a night may come from another machine
                if folder and components(folder, file)[0] != RUNS:
                    raise ConfigurationError(f"{file}: the run {folder} is outside of {RUNS}/")
                _check_moment(finished.started, place)
                _check_numbers(place, finished.job.id, seconds=finished.seconds)
                _check_job(finished.job, place)
                yield finished

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

    def replay(self, finished: Finished) -> Replay | None:
        """Return what repeats a run; None for one without a folder."""
        if finished.folder is None:
            return None
        folder, plan = self.path / finished.folder, self.plan
        return replay_of(folder, finished.job.seed, version=plan.fencepost, commit=plan.git_commit)

    def run_again(self, finished: Finished, *, from_here: bool = False) -> RunAgain | None:
        """Return the command that repeats a run; None for one without a folder.

        It works in any folder; `from_here`: in the folder of the night, which may have been moved.
        """
        replay = self.replay(finished)
        if replay is None or finished.folder is None:
            return None
        text = run_files.text(self.path / finished.folder, run_files.TARGET)
        file = f"{finished.folder}/{run_files.TARGET}" if from_here and not replay.folder else ""
        return replay.run_again(text, file)

    def open_jobs(self) -> tuple[Job, ...]:
        """Return the runs of the plan that have not ended."""
        ended = {finished.job.id for finished in self.finished()}
        return tuple(job for job in self.plan.jobs if job.id not in ended)


def _decoded(raw: bytes, kind: type[T], file: Path, line: int = 0) -> T:
    """Decode JSON that may be from another machine. Raises HistoryError if it is of another form."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise HistoryError(str(file), line, f"no campaign writes that: {error}") from None
    except RecursionError:
        raise HistoryError(str(file), line, "no campaign writes that: it is nested too deep") from None


def _is_cut(line: bytes) -> bool:
    """Was a line cut short by a kill, so that its run has to be made again?"""
    try:
        msgspec.json.decode(line)
    except (msgspec.ValidationError, RecursionError):  # whole, but none that a campaign writes
        return False
    except msgspec.DecodeError:
        return True
    return False


def _check(plan: NightPlan, file: Path) -> None:
    """Raise ConfigurationError for a plan that no campaign writes: it gets into file names and commands."""
    for name in (
        plan.campaign,
        plan.engine,
        *filter(None, [plan.canary]),
        *(cell.name for cell in plan.cells),
    ):
        component(name, file)
    for value, pattern, what in (
        (plan.fencepost, _VERSION_PATTERN, "a version"),
        (plan.git_commit or "", _COMMIT_PATTERN, "a commit"),
        (plan.tested_commit or "", _COMMIT_PATTERN, "a commit"),
        *(
            (kind, _KIND_PATTERN, "a kind")
            for cell in plan.cells
            for kind in (cell.lock, cell.storage, cell.faults)
        ),
    ):
        if not re.fullmatch(pattern, value):
            raise ConfigurationError(f"{file}: {quoted(value)} cannot be {what}")
    _check_moment(plan.started, str(file))
    for cell in plan.cells:
        _check_numbers(str(file), cell.name, duration=cell.duration)
    names = {cell.name for cell in plan.cells}
    for job in plan.jobs:
        _check_job(job, str(file))
        if job.cell not in names or job.reproduction:  # its runs would not count
            raise ConfigurationError(f"{file}: no campaign plans the run {job.id}")


def _check_moment(text: str, place: str) -> None:
    with suppress(ValueError):  # a month 13
        if re.fullmatch(_MOMENT_PATTERN, text) and datetime.fromisoformat(text):
            return
    raise ConfigurationError(f"{place}: {quoted(text)} cannot be a moment")


def _check_job(job: Job, place: str) -> None:
    component(job.cell, place)
    numbers = {"repeat": job.repeat, "reproduction": job.reproduction, "expected": job.expected}
    _check_numbers(place, job.id, **numbers, seed=min(job.seed, 0))  # any other seed is possible


def _check_numbers(place: str, of: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number <= _MOST:
            raise ConfigurationError(f"{place}: {of} cannot have the {name} {quoted(number)}")


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
