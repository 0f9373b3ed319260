"""What a finding names is wrong by itself, and none of it is to spare: checked on the lines of its file.

A finding's lines are cut out of the history, with its header and its faults, and judged: the
same anomaly is found. Without any one of the operations it is not. A read goes with the write
whose value it returned: without that write it would be wrong for another reason.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from checkers.history.commits import read_commits
from checkers.history.reader import parse
from checkers.history.records import Commit, Op, Outcome
from checkers.text.errors import HistoryError
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding, Verdict
from tests.support.brute_force import fenced, random_register_history, renumbered
from tests.support.commit_logs import committed, random_log
from tests.support.literal_histories import LITERAL
from tests.support.selection import Cases, seeds
from tests.support.simulation import Simulation

FEW = 10  # of a run's findings, some are looked at

Event = tuple[str, int, int]


def stored(one: Op | Commit) -> object:
    """What tells one entry of the log from the others: its value, or the token of a fence."""
    is_fence = one.f == "fence" if isinstance(one, Op) else one.fence
    return ("fence", one.token) if is_fence else one.value


class Recorded:
    """A history's lines, and the storage's own order of its writes, if that is known."""

    def __init__(self, lines: Sequence[str], commits: Sequence[Commit] | None = None) -> None:
        self.lines = lines
        self.operations = parse(lines).operations
        self._commits = commits

    def verdict(self) -> Verdict:
        return judge(parse(self.lines), self._commits)

    def cut(self, operations: Sequence[Op]) -> Recorded:
        """The header, the faults, the lines of some operations, and the commits of what they wrote."""
        kept = {1, *(number for op in operations for number in op.lines)}
        lines = [
            line
            for number, line in enumerate(self.lines, start=1)
            if number in kept or json.loads(line).get("process") == "nemesis"
        ]
        if self._commits is None:
            return Recorded(lines)
        kept_here = {stored(op) for op in operations}
        others = {stored(op) for op in self.operations if op.f != "read"} - kept_here
        return Recorded(lines, [commit for commit in self._commits if stored(commit) not in others])

    def shown(self, finding: Finding, evidence: str) -> set[Event]:
        """Whom the same anomaly on the same resource accuses, by one evidence."""
        try:
            results = self.verdict().checkers
        except HistoryError:  # what is left of the log is of nothing that is left of the history
            return set()
        return {
            self.event(found)
            for result in results
            if result.evidence == evidence
            for found in result.findings
            if (found.anomaly, found.resource) == (finding.anomaly, finding.resource)
        }

    def event(self, finding: Finding) -> Event:
        """The accused operation by what stays the same when lines are cut out."""
        if finding.accused < 0:  # a write that only the log has
            return "log", finding.accused, 0
        op = self.operations[finding.accused]
        return op.f, op.process, op.called


def check(lines: Sequence[str], commits: Sequence[Commit] | None = None) -> Iterator[str]:
    """Check the proof of each finding of a history; its anomaly, for counting.

    What is still found without one of the operations may only be an event that is another
    finding of the same verdict: two of one name can overlap.
    """
    recorded = Recorded(lines, commits)
    verdict = recorded.verdict()
    for finding in verdict.findings[:FEW]:
        evidence = evidence_of(finding, verdict)
        own = [op for op in recorded.operations if not set(op.lines).isdisjoint(finding.operations)]
        assert sorted(line for op in own for line in op.lines) == list(finding.operations)
        assert not finding.account.doubt, (finding.account, lines)

        assert recorded.cut(own).shown(finding, evidence), (finding.account, lines)
        others = {recorded.event(each) for each in verdict.findings if each is not finding}
        for one in own:
            rest = [op for op in own if op is not one and not returned(op, one)]
            left = recorded.cut(rest).shown(finding, evidence) - others
            assert not left, (finding.account, one, lines)
        yield finding.anomaly


def evidence_of(finding: Finding, verdict: Verdict) -> str:
    """The evidence that a finding rests on: the log's, if that shows it."""
    return min(
        result.evidence
        for result in verdict.checkers
        for found in result.findings
        if (found.anomaly, found.accused) == (finding.anomaly, finding.accused)
    )


def returned(read: Op, write: Op) -> bool:
    if read.f == "append":
        return read.seen is not None and write.f != "read" and read.seen == write.value
    return read.f == "read" and write.f != "read" and read.outcome is Outcome.OK and read.value == write.value


def lines_of(operations: Sequence[Op], **header: object) -> list[str]:
    """A history file."""
    events: list[tuple[int, int, dict[str, object]]] = []
    for op in operations:
        asked: dict[str, object] = {"process": op.index, "f": op.f, "resource": op.resource}
        asked |= {} if op.f == "read" else {"token": op.token}
        asked |= {"value": op.value} if op.f == "write" else {}
        answer = {"value": op.value, "token": op.token} if op.f == "read" else {}
        events.append((op.called, 0, {"type": "invoke", **asked}))
        events.append((op.learned or 0, 1, {"type": op.outcome.value, "error": op.error, **asked, **answer}))
    events.sort(key=lambda event: event[:2])
    first = {"fencepost": 1, "target": "t", "require": {"stale_writes_attempted": 0}, **header}
    return [json.dumps(each) for each in (first, *({"time": time, **event} for time, _, event in events))]


@pytest.mark.slow
@pytest.mark.parametrize("path", LITERAL.values(), ids=LITERAL)
def test_a_recorded_history_shows_the_smallest_set_that_is_wrong(path: Path) -> None:
    log = path.with_suffix(".commits.jsonl")
    commits = read_commits(log) if log.exists() else None

    list(check(path.read_text().splitlines(), commits))


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(2))
def test_an_observed_finding_is_proved_by_a_minimal_set(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(cases(300, least=200)):
        operations = random_register_history(rng)
        if rng.random() < 0.25:
            operations = tuple(
                fenced(op) if op.f == "write" and op.error != "stale" and rng.random() < 0.4 else op
                for op in operations
            )
        policy = rng.choice(["strict", "inclusive"])

        found.update(check(lines_of(operations, policy=policy)))

    assert found.keys() >= {"stale-write", "stale-read", "false-rejection", "ghost-write", "non-linearizable"}


@pytest.mark.parametrize("seed", seeds(2))
def test_a_finding_without_a_fence_is_proved_by_a_minimal_set(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(cases(300, least=100)):
        operations = random_register_history(rng, rejections=False)
        wrong = renumbered([op for op in operations if op.outcome is not Outcome.FAIL])

        found.update(check(lines_of(wrong, fenced=False, policy="inclusive")))

    assert found.keys() >= {"stale-write", "non-linearizable"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(2))
def test_a_finding_in_the_log_is_proved_by_a_minimal_set(seed: int, cases: Cases) -> None:
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(cases(250, least=100)):
        operations = random_register_history(rng)
        writes = random_log(rng, operations)
        header = {"policy": rng.choice(["strict", "inclusive"])}
        found.update(check(lines_of(operations, **header), committed(writes)))

    assert found.keys() >= {"stale-write", "phantom-accept", "duplicate-write", "non-linearizable"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug",
    [{"fenced": False}, {"fenced": False, "policy": "inclusive"}, {"early": 1500}, {"forgetful": True}],
    ids=lambda bug: "-".join(map(str, bug)),
)
def test_planted_bugs_are_proved_by_the_smallest_set_that_is_wrong(bug: dict[str, object]) -> None:
    found: Counter[str] = Counter()
    for seed in range(4):
        run = Simulation(seed=seed, **bug)
        lines = [line.rstrip("\n") for line in run.lines()]

        found.update(check(lines))
        found.update(check(lines, run.commits()))

    assert sum(found.values()) > 5
