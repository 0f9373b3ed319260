"""What one run of the series showed of the lock."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkers.document import FindingDocument
from checkers.history.faults import faults_of
from checkers.history.records import Op, Outcome
from checkers.locks.leases import granted
from checkers.notices import TOKENS_LOOK_LIKE
from harness.card.series import OF_LOCKS, Experiment
from harness.core.events import RunJudged
from harness.files.run_files import ENVIRONMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run of the series, or why there was none."""

    experiment: Experiment
    folder: Path | None = None
    failure: str = ""  # why it has no verdict
    verdict: str = ""
    anomalies: Mapping[str, int] = field(default_factory=dict)  # the violations that were found
    coverage: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    looks_like: str = ""  # a notice that the tokens look like something that a fence cannot rely on
    grants_with_token: int = 0
    grants_without_token: int = 0
    kept: int = 0  # locks that were held when a fault began, and released after that with ok
    gone: int = 0  # likewise, but the release was refused, although the lease had not ended
    releases_refused: int = 0  # of locks that the client had lost
    releases_accepted: int = 0  # likewise
    finding: FindingDocument | None = None  # the first one
    versions: Mapping[str, str] = field(default_factory=dict)  # of the libraries, as the program named them

    @property
    def of_lock(self) -> dict[str, int]:
        """The anomalies of the lock service that were found."""
        return {name: self.anomalies[name] for name in OF_LOCKS if self.anomalies.get(name)}


def seen_in(experiment: Experiment, judged: RunJudged) -> Seen:
    """Take from a judged run what the card needs."""
    document, operations = judged.document, judged.history.operations
    grants = granted(operations)
    refused, accepted = releases_of_lost_locks(operations)
    after_faults = Counter(
        release.outcome
        for fault in faults_of(judged.history.faults)
        for release in releases_after(operations, fault.began)
    )
    with_token = sum(grant.token is not None for grant in grants)
    return Seen(
        experiment=experiment,
        folder=judged.folder,
        verdict=document.verdict,
        anomalies=Counter(finding.anomaly for finding in document.findings),
        coverage=document.coverage,
        reasons=tuple(document.reasons),
        looks_like=next((each for each in document.notices if each.startswith(TOKENS_LOOK_LIKE)), ""),
        grants_with_token=with_token,
        grants_without_token=len(grants) - with_token,
        kept=after_faults[Outcome.OK],
        gone=after_faults[Outcome.FAIL],
        releases_refused=refused,
        releases_accepted=accepted,
        finding=next(iter(document.findings), None),
        versions=_versions(judged.folder),
    )


def _versions(folder: Path) -> Mapping[str, str]:
    surroundings = json.loads((folder / ENVIRONMENT).read_text())
    versions: Mapping[str, str] = surroundings["program"]["versions"]
    return versions


def releases_after(operations: Sequence[Op], moment: int) -> Iterator[Op]:
    """Yield the releases after a moment (ns) of locks that were granted before, while their leases last."""
    held = {(op.resource, op.owner): op for op in granted(operations) if _returned(op) < moment}
    for op in operations:
        mine = held.get((op.resource, op.owner))
        if op.f == "release" and mine and op.called > moment and not _has_ended(mine, op.called):
            yield op


def _has_ended(grant: Op, moment: int) -> bool:
    """Had the lease of a grant ended by then, if nothing renewed it? A session has no end of its own."""
    asked = grant.called if grant.attempt is None else grant.attempt
    return grant.ttl is not None and moment > asked + grant.ttl


def releases_of_lost_locks(operations: Iterable[Op]) -> tuple[int, int]:
    """Count the releases of lost locks: those that failed, and those that ended ok.

    A lock is lost for certain if somebody else was granted it after its holder, and before the release.
    A release whose outcome is unknown counts as neither.
    """
    by_resource: dict[str, list[Op]] = defaultdict(list)
    for op in operations:
        by_resource[op.resource].append(op)
    answers = Counter(
        release.outcome
        for on_resource in by_resource.values()
        for release in _of_losers(on_resource, sorted(granted(on_resource), key=_returned))
    )
    return answers[Outcome.FAIL], answers[Outcome.OK]


def _of_losers(operations: Iterable[Op], grants: Sequence[Op]) -> Iterator[Op]:
    """The releases of locks that somebody else had been granted by then."""
    held = {grant.owner: grant for grant in grants}
    for release in operations:
        if release.f == "release" and (mine := held.get(release.owner)):
            since = grants[bisect_right(grants, _returned(mine), key=_returned) :]
            since = since[: bisect_left(since, release.called, key=_returned)]
            if any(grant.owner != mine.owner and _is_later(grant, mine) for grant in since):
                yield release


def _is_later(grant: Op, other: Op) -> bool:
    """Was a lock granted after another grant of it, which returned earlier?

    A client may be paused between the grant and its return, so the returns alone prove nothing. A service
    that queues its clients knows no attempt; there, the tokens have to agree.
    """
    if grant.attempt is not None:
        return grant.attempt > _returned(other)
    return grant.token is None or other.token is None or grant.token > other.token


def _returned(grant: Op) -> int:
    return grant.called if grant.returned is None else grant.returned
