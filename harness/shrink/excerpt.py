"""The smallest excerpt of a history that is still wrong in the same way.

An excerpt has whole operations, faults, and the commit log's entries of its writes. It is accepted if
it has the same finding, with the same accused operation, the same probable cause and as many steps, and
no finding that the run does not have. So nothing that was left out can look like an error of the system.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checkers.history.faults import faults_of
from checkers.history.records import History, Op
from checkers.text.errors import HistoryError
from checkers.text.printable import as_json
from harness.core.errors import ConfigurationError
from harness.core.grouping import grouped
from harness.files import run_files
from harness.files.run_folder import COMMITS, HISTORY
from harness.processes.run_notes import temporary_folder
from harness.report.first_finding import Finding, primary
from harness.run.recheck import Judged, judge_file
from harness.shrink.reduce import reduced

_LOGGED = frozenset({"write", "append", "fence"})
_Stored = tuple[object, ...]
_Event = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines of a history and of its commit log, and what they contain."""

    history: tuple[bytes, ...]
    commits: tuple[bytes, ...] | None  # None: the storage has no order
    operations: int
    clients: int
    faults: int
    finding: Finding  # the run's, as it is found in the excerpt
    stands_alone: bool = True  # False: its log fits nothing in it, which only a run's folder may have

    def write(self, history: Path, commits: Path) -> None:
        """Write both files; no commit log if there is none."""
        write(self.history, self.commits, history, commits)


def write(lines: Iterable[bytes], logged: Iterable[bytes] | None, history: Path, commits: Path) -> None:
    """Write the lines of both files; no commit log if there is none."""
    history.write_bytes(b"".join(lines))
    if logged is not None:
        commits.write_bytes(b"".join(logged))


def smallest(run: Path, judged: Judged) -> Excerpt:
    """Return the smallest excerpt of a run with its first finding; ConfigurationError if it has none."""
    finding = primary(judged.document.as_dict())
    if finding is None:
        said = judged.document.verdict
        raise ConfigurationError(f"{run}: its verdict is {said}: there is no finding to shrink to")
    recording = _Recording.read(run, judged.history, finding["anomaly"])
    whole = range(1, len(recording.history) + 1)
    with temporary_folder() as scratch:
        test = _Test(recording, finding, _events(judged.document.as_dict(), whole), scratch)
        parts = next(filter(test.holds, recording.beginnings(finding)), None)
        if parts is None:
            return replace(recording.excerpt(recording.parts, finding), stands_alone=False)
        smallest_parts = reduced(parts, test.holds)
        return recording.excerpt(smallest_parts, test.found(smallest_parts) or finding)


@dataclass(frozen=True, slots=True)
class _Part:
    """What is kept or left out as a whole: an operation, a fault, or an entry that no client sent."""

    lines: tuple[int, ...] = ()  # of the history, from 1
    commits: tuple[int, ...] = ()  # indices in the log
    process: int | None = None  # None: it is no operation
    resource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recording:
    """The lines of a run, and the parts that they make up."""

    history: Sequence[bytes]
    commits: Sequence[bytes] | None
    parts: Sequence[_Part]
    clients: int | None

    @classmethod
    def read(cls, run: Path, history: History, anomaly: str) -> _Recording:
        """Read the files of a run's folder; excerpts need to show this anomaly only."""
        header, *events = _lines(run, HISTORY) or []
        lines = [_expecting(anomaly, header), *events]
        commits = _lines(run, COMMITS)
        logged = grouped((_stored(json.loads(line)), index) for index, line in enumerate(commits or ()))
        parts = [_part(op, lines, logged) for op in history.operations]
        sent = {index for part in parts for index in part.commits}
        strays = [
            _Part(commits=(index,), resource=str(stored[0]))
            for stored, indices in logged.items()
            for index in indices
            if index not in sent
        ]
        return cls(
            history=lines,
            commits=commits,
            parts=[
                *sorted(parts, key=lambda part: (part.process, part.lines)),
                *strays,
                *(_Part(lines=fault.lines) for fault in faults_of(history.faults)),
            ],
            clients=history.header.clients,
        )

    def beginnings(self, finding: Finding) -> Iterator[Sequence[_Part]]:
        """Yield what to begin with: the proof alone, what came before its end, the resource, and all."""
        proof, resource = set(finding["operations"]), finding["resource"]
        end = max(proof, default=len(self.history))
        own = [part for part in self.parts if part.resource in {resource, ""}]
        yield [part for part in own if part.process is None or proof.intersection(part.lines)]
        yield [part for part in own if not part.lines or part.lines[0] <= end]
        yield own
        yield self.parts

    def lines(self, parts: Sequence[_Part]) -> tuple[tuple[bytes, ...], tuple[bytes, ...] | None]:
        """Return the lines of these parts, in their order: of the history, and of the log."""
        kept = sorted({index for part in parts for index in part.commits})
        history = tuple(self.history[number - 1] for number in self.numbers(parts))
        return history, None if self.commits is None else tuple(self.commits[index] for index in kept)

    def excerpt(self, parts: Sequence[_Part], finding: Finding) -> Excerpt:
        """Return an excerpt of these parts, in which a finding is found."""
        history, commits = self.lines(parts)
        operations = [part for part in parts if part.process is not None]
        processes = {part.process for part in operations if part.process is not None}
        clients = {process % self.clients for process in processes} if self.clients else processes
        return Excerpt(
            history=history,
            commits=commits,
            operations=len(operations),
            clients=len(clients),
            faults=sum(bool(part.lines) for part in parts) - len(operations),
            finding=finding,
        )

    def numbers(self, parts: Iterable[_Part]) -> list[int]:
        """Return the line of the run that each line of an excerpt was, from the header on."""
        return [1, *sorted(line for part in parts for line in part.lines)]


@dataclass(frozen=True, slots=True)
class _Test:
    """Does an excerpt have the finding, and none that the run does not have?"""

    recording: _Recording
    finding: Finding
    known: AbstractSet[_Event]
    scratch: Path

    def holds(self, parts: Sequence[_Part]) -> bool:
        """Judge an excerpt."""
        return self.found(parts) is not None

    def found(self, parts: Sequence[_Part]) -> Finding | None:
        """Judge an excerpt, and return the finding in it; None if it has others than the run."""
        history, commits = self.scratch / HISTORY, self.scratch / COMMITS
        write(*self.recording.lines(parts), history, commits)
        try:
            judged = judge_file(history, commits if commits.exists() else None)  # as the user will
        except HistoryError:
            return None
        alone = judged.document.as_dict()
        numbers = self.recording.numbers(parts)
        if not self.known >= _events(alone, numbers):
            return None
        return next((each for each in alone["findings"] if self._is_same(each, numbers)), None)

    def _is_same(self, finding: Finding, numbers: Sequence[int]) -> bool:
        return (
            all(finding[name] == self.finding[name] for name in ("anomaly", "rule", "roles", "fault"))
            and len(finding["steps"]) == len(self.finding["steps"])
            and _original(finding["accused"], numbers) == tuple(self.finding["accused"])
            and _original(_besides_the_proof(finding), numbers) == _besides_the_proof(self.finding)
        )


def _events(verdict: Mapping[str, Any], numbers: Sequence[int]) -> AbstractSet[_Event]:
    """What tells the findings of a run from each other, whichever operations prove them."""
    return {
        (finding["anomaly"], finding["resource"], _original(finding["accused"], numbers))
        for finding in verdict["findings"]
    }


def _besides_the_proof(finding: Mapping[str, Any]) -> tuple[int, ...]:
    """The lines that only the steps are about, such as those of a release that may have freed a lock."""
    mentioned = {line for lines in finding["step_lines"] for line in lines}
    return tuple(sorted(mentioned.difference(finding["operations"])))


def _original(lines: Iterable[int], numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(numbers[line - 1] for line in lines)


def _expecting(anomaly: str, header: bytes) -> bytes:
    document = json.loads(header)
    smaller = expecting(anomaly, document)
    return header if smaller == document else f"{as_json(smaller)}\n".encode()


def _lines(run: Path, name: str) -> list[bytes] | None:
    content = run_files.content(run, name)
    return None if content is None else content.splitlines(keepends=True)


def _part(op: Op, lines: Sequence[bytes], logged: Mapping[_Stored, list[int]]) -> _Part:
    commits = logged.get(_stored(json.loads(lines[op.lines[0] - 1])), ()) if op.f in _LOGGED else ()
    return _Part(lines=op.lines, commits=tuple(commits), process=op.process, resource=op.resource)


def _stored(line: Mapping[str, Any]) -> _Stored:
    """What matches a line of the history with one of the log: a storage may have lost a write's token."""
    if line.get("fence") or line.get("f") == "fence":
        return line.get("resource"), line.get("token")
    value = line.get("element", line.get("value"))
    last = value[-1] if isinstance(value, list) and value else value
    return line.get("resource"), json.dumps(last)


def expecting(anomaly: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """A header or a target that expects only this one of its anomalies; the others may come with it."""
    expected = document.get("expect", ())
    if isinstance(expected, str) or anomaly not in expected:
        return dict(document)
    others = [name for name in expected if name != anomaly]
    may = [*document.get("may", ()), *others]
    return {**document, "expect": [anomaly], **({"may": may} if may else {})}
