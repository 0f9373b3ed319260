"""Several shards of one campaign, joined into one night.

What the shards say about their runs is a claim, which is only compared: every history is judged again.
The campaign's name, its quarantine and what is kept of the runs are those of the user's own file. All
sides are checked before the first byte of the new night is written.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import msgspec

from checkers.text import limits
from checkers.text.limits import described
from checkers.text.printable import shorten
from checkers.vocabulary.document import VerdictDocument
from harness.campaign import campaign_file, canary
from harness.campaign.campaign_file import Campaign
from harness.campaign.cells import CampaignCell, expand
from harness.campaign.execution import LAST_WORDS, LOGS, RUNS, Finished
from harness.campaign.night import RESULTS, Night, NightPlan
from harness.campaign.outputs import repository
from harness.campaign.recheck_history import differences
from harness.campaign.rejudging import NO_HISTORY, Rejudged, rejudged
from harness.campaign.schedule import REPRODUCTIONS, missing_shards
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode, of_several, of_verdict
from harness.core.paths import is_file
from harness.files import received, run_files
from harness.files.received import components
from harness.files.run_folder import VERDICT
from harness.report.junit import NAME as JUNIT
from harness.report.sentences import count

_MOST_SAID = 1_000  # characters
_MOST_NAMED = 10  # cells
_WITH_VERDICT = {ExitCode.AS_EXPECTED, ExitCode.VIOLATION, ExitCode.UNKNOWN}


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


def read_shard(folder: Path) -> Shard:
    """Read a shard; ConfigurationError or HistoryError if no campaign writes it, or all that it names."""
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
    planned = {job.key for job in night.plan.jobs}
    for finished in ended:
        job, folder = finished.job, finished.folder
        if job.key not in planned or job.reproduction > REPRODUCTIONS:
            raise ConfigurationError(f"{night.path}: its plan has no run {job.id} with the seed {job.seed}")
        if folder and components(folder, night.path)[1:-1] != (job.cell,):
            where = f"a folder of {RUNS}/{job.cell}"
            raise ConfigurationError(f"{night.path}: the run {job.id} cannot be in {folder}, but in {where}")


def merge(folders: Sequence[Path], nights: Path, campaign: Path | None = None) -> Night:
    """Copy the runs of several nights into a new one, judge them again, and return it.

    The shards are not changed. The new night names the shards that are missing, and cells that are not as
    in `campaign`, the user's own campaign file; without it, nothing is quarantined.

    Raises ConfigurationError or HistoryError, before anything is written, if a folder is not what a
    campaign writes, or if they are not shards of one campaign.
    """
    mine = campaign_file.load(campaign) if campaign else None
    shards = [read_shard(folder) for folder in folders]
    _check(shards, mine)
    _check_room(shards, nights)
    plan = _plan(shards, mine, campaign)
    merged = Night.create(nights, plan, campaign.read_text(encoding="utf-8-sig") if campaign else None)
    with merged.in_use():
        for shard in shards:
            shard.copy(merged.path)
        claims = [claim for shard in shards for claim in shard.claims]
        found = rejudged([merged.path / claim.finished.folder for claim in claims if claim.finished.folder])
        for claim in claims:  # a run without a folder stays as it ended
            merged.record(_result(claim, next(found) if claim.finished.folder else None))
    return merged


def _check(shards: Sequence[Shard], mine: Campaign | None) -> None:
    """Raise ConfigurationError unless these are shards of one call, and of the user's campaign."""
    names = {shard.night.plan.campaign for shard in shards}
    if len(names) > 1:
        raise ConfigurationError(f"these are shards of different campaigns: {', '.join(sorted(names))}")
    if mine and names != {mine.name}:
        raise ConfigurationError(
            f"these are shards of the campaign {names.pop()}, but the file of --campaign is of {mine.name}"
        )
    if len({shard.night.path.resolve() for shard in shards}) < len(shards):
        raise ConfigurationError("a folder is named twice: name each shard once")
    seen: dict[str, Path] = {}
    for shard in shards:
        for thing in _own(shard):
            other = seen.setdefault(thing, shard.night.path)
            if other != shard.night.path:
                raise ConfigurationError(
                    f"{other} and {shard.night.path} both have the {thing}: they are not shards of one call"
                )


def _check_room(shards: Sequence[Shard], nights: Path) -> None:
    """Raise ConfigurationError unless the disk has room for what is copied."""
    size = sum(shard.size for shard in shards)
    disk = next(each for each in (nights, *nights.absolute().parents) if each.exists())
    if size > (free := shutil.disk_usage(disk).free):
        raise ConfigurationError(
            f"the shards have {described(size)}, and {nights} has room for {described(free)}: name another"
            " folder with --nights"
        )


def _own(shard: Shard) -> Iterator[str]:
    """What no other shard can have."""
    yield from (f"run {job.id}" for job in shard.night.plan.jobs)
    yield from (f"folder {name}" for name in shard.folders)
    yield from (f"file {'/'.join(names)}" for names in shard.files)


def _plan(shards: Sequence[Shard], mine: Campaign | None, file: Path | None) -> NightPlan:
    plans = [shard.night.plan for shard in shards]
    started = min(plan.started for plan in plans)
    gone = missing_shards([plan.shard for plan in plans])
    cells = _cells(shards)
    unlike, not_compared = _compared(mine, cells, whole=not gone)
    tested = {plan.tested_commit for plan in plans}
    return msgspec.structs.replace(
        plans[0],
        started=started,
        file=str(file.absolute()) if file else "",
        tested_commit=tested.pop() if len(tested) == 1 else None,
        shard="",
        missing=gone,
        joined=True,
        canary=_canary(plans, mine, started, gone),
        unlike=unlike,
        not_compared=not_compared,
        cells=cells,
        jobs=[replace(job, servers="") for plan in plans for job in plan.jobs],
    )


def _canary(plans: Sequence[NightPlan], mine: Campaign | None, started: str, gone: Sequence[str]) -> str:
    """Choose the bug that the night had to find: the shards' own, or the one that the campaign demands.

    The first shard has it; if that one is missing, the night fails anyway.
    """
    had = next((plan.canary for plan in plans if plan.canary), "")
    if mine is None or not mine.canary or any(name.startswith("1/") for name in gone):
        return had
    if had and mine.canary is True:
        return had
    return canary.chosen(mine, dt.datetime.fromisoformat(started).date())


def _cells(shards: Sequence[Shard]) -> list[CampaignCell]:
    found: dict[str, CampaignCell] = {}
    for shard in shards:
        for cell in shard.night.plan.cells:
            if found.setdefault(cell.name, cell).source != cell.source:
                raise ConfigurationError(
                    f"{shard.night.path}: its target {cell.name} is not the one of another shard: they are"
                    " not shards of one call"
                )
    return [replace(cell, file=_file(cell.file), servers="") for cell in found.values()]


def _file(name: str) -> str:
    """The target file that a shard names, if this machine's repository has it, too."""
    root, path = repository().resolve(), Path(name)
    return name if name and is_file(path) and path.resolve().is_relative_to(root) else ""


def _result(claim: Claim, found: Rejudged | str | None) -> Finished:
    finished = claim.finished
    match found:
        case None if finished.exit_code not in _WITH_VERDICT:
            return finished
        case None:
            return _not_judged(finished, NO_HISTORY)
        case str():
            return _not_judged(finished, found)
    if (found.target, found.seed) != (finished.job.cell, finished.job.seed):
        why = f"the history in its folder is of a run of {found.target} with the seed {found.seed}"
        return _not_judged(finished, why)
    code, ended = of_verdict(found.document), finished.exit_code
    failure = ExitCode.CONFIGURATION if ended == ExitCode.CONFIGURATION else ExitCode.INFRASTRUCTURE
    return replace(
        finished,
        exit_code=code if ended in _WITH_VERDICT else of_several([code, failure]),  # it hides no violation
        verdict=found.document.as_dict(),
        differences=shorten("; ".join(_differences(claim, found, code)), _MOST_SAID),
    )


def _not_judged(finished: Finished, why: str) -> Finished:
    return replace(finished, exit_code=ExitCode.UNKNOWN, not_judged=shorten(why, _MOST_SAID))


def _differences(claim: Claim, found: Rejudged, code: ExitCode) -> Iterator[str]:
    if claim.verdict is None:
        return
    yield from differences(found.document, claim.verdict, claim.anomalies)
    if claim.finished.exit_code in _WITH_VERDICT and claim.finished.exit_code != code:
        yield f"exit code {code:d}, was {claim.finished.exit_code}"


def _compared(mine: Campaign | None, cells: Iterable[CampaignCell], *, whole: bool) -> tuple[list[str], str]:
    """How the cells of shards differ from those of the user's campaign file, or why that is not known.

    A sentence for each kind. `whole`: no shard is missing, so that each cell of the campaign should be there.
    """
    if mine is None:
        return [], ""
    try:
        own = {cell.name: cell.source for cell in expand(mine).cells}
    except ConfigurationError as error:
        return [], f"what the shards ran was not compared with the campaign file: {error.lines[0]}"
    ran = {cell.name: cell.source for cell in cells if not canary.is_canary(cell.name)}
    changed = (name for name in own.keys() & ran if own[name] != ran[name])
    differences = (
        _named("the shards have no run of {}, of the campaign file", own.keys() - ran if whole else ()),
        _named("the shards ran {}, which the campaign file does not have", ran.keys() - own),
        _named("the shards ran with another text than the campaign file now has: {}", changed),
    )
    return [*chain.from_iterable(differences)], ""


def _named(sentence: str, names: Iterable[str]) -> Iterator[str]:
    found = sorted(names)
    more = [count(len(found) - _MOST_NAMED, "other")] * (len(found) > _MOST_NAMED)
    if found:
        yield sentence.format(", ".join([*found[:_MOST_NAMED], *more]))
