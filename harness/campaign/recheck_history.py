"""Judge the stored histories of all nights again: what has an upgrade changed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checkers.text.errors import HistoryError
from checkers.vocabulary.document import VerdictDocument
from harness.campaign.results import Results
from harness.campaign.stored import Stored, decompressed
from harness.files.run_folder import COMMITS, HISTORY
from harness.processes.run_notes import temporary_folder
from harness.report.answer import times
from harness.report.first_finding import fingerprint, is_of_older_form
from harness.run.recheck import judge_file


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckedRun:
    """A stored run, and what is different now: verdict, anomalies and fingerprint."""

    run: Stored
    changes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.run.cell}, seed {self.run.seed}, {self.run.started}: {'; '.join(self.changes)}"


def recheck(results: Results) -> Iterator[RecheckedRun]:
    """Judge every stored history again. The stored data is not changed."""
    for run in results.stored():
        with temporary_folder() as temporary:
            history, commits = temporary / HISTORY, temporary / COMMITS
            try:
                history.write_bytes(decompressed(run.history))
                if run.commits is not None:
                    commits.write_bytes(decompressed(run.commits))
                judged = judge_file(history, None if run.commits is None else commits, same_run=True)
            except (HistoryError, ValueError) as error:
                yield RecheckedRun(run=run, changes=(f"cannot be read: {error}, was {run.verdict}",))
            else:
                yield RecheckedRun(run=run, changes=tuple(_changes(run, judged.document)))


def differences(document: VerdictDocument, verdict: str, known: Mapping[str, int] | None) -> Iterator[str]:
    """Say how a new verdict differs from an earlier one, and its anomalies if those are known."""
    if document.verdict != verdict:
        yield f"{document.verdict}, was {verdict}"
    found = {name: count for name, count in document.anomalies.items() if count}
    if known is not None and found != known:
        yield f"{times(found) or 'no anomaly'}, was {times(known) or 'none'}"


def _changes(run: Stored, document: VerdictDocument) -> Iterator[str]:
    """Say what differs of all that was stored; fingerprints of another form cannot be compared."""
    yield from differences(document, run.verdict, run.anomalies)
    if run.fingerprint is None or is_of_older_form(run.fingerprint):
        return
    shape = fingerprint(run.cell, document.as_dict())
    if shape != run.fingerprint:
        yield f"fingerprint {shape}, was {run.fingerprint}"
