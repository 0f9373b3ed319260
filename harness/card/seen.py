"""What one run of the series showed of the lock."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from checkers.facts.leases import granted
from checkers.history.faults import faults_of
from checkers.history.records import Outcome
from checkers.verdict.notices import TOKENS_LOOK_LIKE
from checkers.vocabulary.document import FindingDocument
from harness.card import releases
from harness.card.series import OF_LOCKS, Experiment
from harness.core.events import RunJudged
from harness.files.run_files import ENVIRONMENT
from harness.report.handovers import by_stopped_holders


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
    accepted: releases.LostRelease | None = None  # the first of those
    expired_refused: int = 0  # releases of locks that had expired, and that nobody else had had
    expired_accepted: int = 0  # likewise
    kept_back: int = 0  # locks whose holders were stopped in order, and did not release them with ok
    given_back: tuple[int | None, ...] = ()  # the others: ns until the next grant; None: not before its end
    in_vain: int = 0  # of these: others waited for the lock until its lease ended
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
    lost = list(releases.of_lost_locks(operations))
    of_lost = Counter(each.release.outcome for each in lost)
    of_expired = Counter(release.outcome for release in releases.of_expired_locks(operations))
    after_faults = Counter(
        release.outcome
        for fault in faults_of(judged.history.faults)
        for release in releases.after_moment(operations, fault.began)
    )
    of_stopped = list(by_stopped_holders(operations, faults_of(judged.history.faults)))
    given_back = [each for each in of_stopped if each.release and each.release.outcome is Outcome.OK]
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
        releases_refused=of_lost[Outcome.FAIL],
        releases_accepted=of_lost[Outcome.OK],
        accepted=next((each for each in lost if each.release.outcome is Outcome.OK), None),
        expired_refused=of_expired[Outcome.FAIL],
        expired_accepted=of_expired[Outcome.OK],
        kept_back=len(of_stopped) - len(given_back),
        given_back=tuple(each.waited for each in given_back),
        in_vain=sum(each.in_vain for each in given_back),
        finding=next(iter(document.findings), None),
        versions=json.loads((judged.folder / ENVIRONMENT).read_text())["program"]["versions"],
    )
