"""The head of a page: what was run, when, for how long, on which engine, and with which changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from checkers.history.columns import RENEW, Operations
from checkers.history.records import Op
from harness.core.invocation import NO_FAULTS
from harness.report.interruption import in_words
from harness.report.recorded_run import RecordedRun
from harness.report.sentences import count
from harness.report.timeline import Timeline
from harness.spec.toml import changed_in, head_comment

_RUN_ID = re.compile(r"(\d{8}T\d{6})-[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What was run."""

    target: str
    story: str  # the description in its file, one or two sentences
    facts: tuple[str, ...]  # date, duration, engine, seed, amount of work
    changed: tuple[str, ...]  # "workload.duration = "6s"", "--no-faults"


def heading(recorded: RecordedRun, laid_out: Timeline | None) -> Heading:
    """Read the head of a page from a run's folder, without what was not recorded."""
    target = recorded.history.header.target if recorded.history else recorded.folder.parent.name
    file = recorded.target_file or ""
    changed = tuple(f"{key} = {value}" for key, value in changed_in(file))
    if NO_FAULTS in recorded.environment.repetition.options:
        changed = (*changed, NO_FAULTS)
    worked = f"{(laid_out.end - laid_out.start) / 1e9:.1f} s of work" if laid_out else ""
    facts = (
        _date(recorded),
        in_words(recorded.verdict.interrupted) or worked,
        f"{recorded.environment.engine} engine" if recorded.environment.engine else "",
        "" if recorded.plan.seed is None else f"seed {recorded.plan.seed}",
        _worked(laid_out.operations) if laid_out else "",
    )
    return Heading(target=target, story=head_comment(file), facts=tuple(filter(None, facts)), changed=changed)


def _date(recorded: RecordedRun) -> str:
    """When it began, in UTC: as recorded, or by its folder's name."""
    began = recorded.environment.began
    named = _RUN_ID.fullmatch(recorded.folder.name)
    try:
        if began:
            moment = datetime.fromisoformat(began).astimezone(UTC)
        elif named:
            moment = datetime.strptime(named[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        else:
            return ""
    except ValueError:
        return ""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _worked(operations: Sequence[Op]) -> str:
    """How much the clients did, and how much of it were renewals, which run in parallel."""
    renewals = len(Operations.of(operations).columns.rows(RENEW))
    renewed = f", {renewals:,} of them {'a renewal' if renewals == 1 else 'renewals'}" if renewals else ""
    return f"{count(len(operations), 'operation')}{renewed}"
