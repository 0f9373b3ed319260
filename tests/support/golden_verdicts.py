"""The findings in every history of the tests: facts in one golden file, their words in another.

    make golden        # or: .venv/bin/python -m tests.support.golden_verdicts

writes the current findings. Read the difference before you commit it: a change of words may be
an improvement, a change of facts is a change of verdicts.

- `NAME.facts.json` and `NAME.words.txt` next to each literal, foreign and recorded history;
- `generated/KIND.txt`: a line of facts for each history of `generated_histories`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import checkers
from checkers import Finding, Verdict
from checkers.history.records import Op
from tests.support.foreign_histories import CASES, GOLDEN, model_of
from tests.support.generated_histories import GENERATED, Case
from tests.support.literal_histories import LITERAL, judged
from tests.support.recorded_runs import RECORDINGS, recorded, unpack

HISTORIES = RECORDINGS.parent
MASS = HISTORIES / "generated"
FACTS, WORDS = GOLDEN
_MOST_SHOWN = 4  # findings of each name, in the words of one history

Judge = Callable[[], Verdict]


@dataclass(frozen=True, slots=True)
class Source:
    """A history in a file, and its golden files."""

    path: Path  # without the endings of golden files
    judge: Judge

    @property
    def facts(self) -> Path:
        return self.path.with_name(self.path.name + FACTS)

    @property
    def words(self) -> Path:
        return self.path.with_name(self.path.name + WORDS)


def sources() -> dict[str, Source]:
    """Every history that is in a file, by name."""
    return {
        **{name: Source(path.with_suffix(""), partial(judged, name)) for name, path in LITERAL.items()},
        **{f"foreign/{path.name}": Source(path, partial(_foreign, path)) for path in CASES},
        **{f"zoo/{name}": Source(RECORDINGS / name, partial(_recorded, name)) for name in recorded()},
    }


def _foreign(path: Path) -> Verdict:
    return checkers.judge_foreign(path, model_of(path)).verdict


def _recorded(name: str) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        run = unpack(name, Path(folder))
        commits = run / "commits.jsonl"
        order = checkers.read_commits(commits) if commits.exists() else None
        verdict = checkers.judge(checkers.read(run / "history.jsonl"), order, same_run=True)
        verdict.to_document()  # explained while the files exist
        return verdict


def facts_of(verdict: Verdict) -> str:
    """Everything in verdict.json that does not depend on wording, one line for each finding."""
    document = verdict.to_document()
    plain = {
        "verdict": document["verdict"],
        "expected": document["expected"],
        "as_expected": document["as_expected"],
        "anomalies": document["anomalies"],
        "coverage": document["coverage"],
        **({"hazards": document["hazards"]["hit"]} if document["hazards"] else {}),
        "checkers": _checkers(document["checkers"]),
        "findings": [_fact(each) for each in document["findings"]],
        "counted": [_fact(each) for each in document["counted"]],
    }
    return "{\n" + ",\n".join(_entries(plain)) + "\n}\n"


def _checkers(ran: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The checkers by their evidence, each with its verdict unless that is "valid"."""
    said: dict[str, list[str]] = {}
    for each in ran:
        word = "" if each["verdict"] == "valid" else f":{each['verdict']}"
        said.setdefault(each["evidence"], []).append(f"{each['name']}{word}")
    return {evidence: " ".join(names) for evidence, names in said.items()}


def _entries(plain: Mapping[str, Any]) -> Iterator[str]:
    for key, value in plain.items():
        if key in {"findings", "counted"} and value:
            lines = ",\n".join(f"  {json.dumps(each)}" for each in value)
            yield f' "{key}": [\n{lines}\n ]'
        else:
            yield f' "{key}": {json.dumps(value)}'


def _fact(finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding without its words and empty fields."""
    named = ("anomaly", "rule", "resource", "accused", "against", "probable_cause", "operations", "also")
    fact = {name: finding[name] for name in named if finding[name]}
    cause = finding["caused_by"]
    if cause:
        fact["caused_by"] = {"anomaly": cause["anomaly"], "operations": cause["operations"]}
    return fact


def words_of(verdict: Verdict) -> str:
    """The words of a verdict: reasons, notices, and the explanation of each finding, or of the first ones."""
    lines = [
        *(f"reason: {each}" for each in verdict.reasons),
        *(f"notice: {each}" for each in verdict.notices),
    ]
    shown: dict[tuple[str, bool], int] = {}
    for finding in (*verdict.findings, *verdict.counted):
        key = (finding.anomaly, finding.is_violation)
        shown[key] = shown.get(key, 0) + 1
        if shown[key] <= _MOST_SHOWN:
            lines += ["", f"{finding.anomaly}: {finding.summary}", *(f"- {step}" for step in finding.steps)]
    return "\n".join(lines).strip() + "\n"


def lines_of_facts(kind: str) -> list[str]:
    """A line for each generated history of a kind."""
    return [line_of_facts(number, case) for number, case in enumerate(GENERATED[kind].cases(kind))]


def line_of_facts(number: int, case: Case) -> str:
    """The facts of a small history: `accused <because [proof]`, in line numbers.

    The second word is a checksum of the history itself: if it differs, the generator has changed.
    """
    verdict = checkers.judge(case.history, case.commits, same_run=True)
    operations = case.history.operations
    explained = [_explained(operations, finding) for finding in (*verdict.findings, *verdict.counted)]
    notes = [
        f"{result.name} {result.evidence[:3]} {_bare(operations, finding)}"
        for result in verdict.checkers
        for finding in result.findings
    ]
    counts = [f"{name} {count}" for name, count in verdict.coverage.items() if count]
    crashed = [reason for reason in verdict.reasons if "crash" in reason]
    parts = (explained, notes, counts, crashed)
    checksum = zlib.crc32(shown(case).encode())
    return " | ".join(
        [f"{number} {checksum:08x} {verdict.validity.word}", *("; ".join(part) for part in parts)]
    )


def _explained(operations: Sequence[Op], finding: Finding) -> str:
    proof = ",".join(map(str, finding.operations))
    also = f" also {','.join(finding.also)}" if finding.also else ""
    cause = finding.caused_by
    after = f" after {cause.anomaly} {_first_line(operations, cause.accused)}" if cause else ""
    return f"{finding.anomaly} {_first_line(operations, finding.accused)} [{proof}]{also}{after}"


def _bare(operations: Sequence[Op], finding: Finding) -> str:
    because = ",".join(str(_first_line(operations, index)) for index in finding.because)
    return f"{_first_line(operations, finding.accused)}{'<' * bool(because)}{because}{'' if finding.is_violation else '~'}"


def _first_line(operations: Sequence[Op], index: int) -> int | str:
    """The line where an operation begins; a commit that no client sent has none."""
    return operations[index].lines[0] if index in range(len(operations)) else f"commit({index})"


def shown(case: Case) -> str:
    """A small history as text."""
    header = case.history.header
    fenced = "fenced" if header.fenced else "unfenced"
    lines = [f"{header.policy}, {fenced}, token {header.initial_token} at first, grace {header.grace}"]
    for op in case.history.operations:
        carried = {
            name: getattr(op, name)
            for name in ("owner", "token", "value", "element", "seen", "ttl", "attempt", "error", "learned")
            if getattr(op, name) is not None
        }
        lines.append(
            f"{op.lines} process {op.process} {op.f} {op.resource} [{op.called}, {op.returned}] {op.outcome}"
            f" {carried}"
        )
    lines += [f"{fault.time} {fault.kind} {fault.target} {fault.state}" for fault in case.history.faults]
    for commit in case.commits or ():
        what = "a fence" if commit.fence else repr(commit.value)
        lines.append(f"commit {commit.seq} {commit.resource} token {commit.token}: {what}")
    return "\n".join(lines)


def mass_of(kind: str) -> Path:
    """The golden file of a kind of generated histories."""
    return MASS / f"{kind.replace(': ', '-').replace(' ', '-')}.txt"


def main(names: Iterable[str]) -> None:
    """Write the golden files of the histories and kinds that are named, or all of them."""
    known = sources()
    for name in names or (*known, *GENERATED):
        if name in known:
            verdict = known[name].judge()
            known[name].facts.write_text(facts_of(verdict), encoding="utf-8")
            known[name].words.write_text(words_of(verdict), encoding="utf-8")
        else:
            MASS.mkdir(exist_ok=True)
            mass_of(name).write_text("".join(f"{line}\n" for line in lines_of_facts(name)), encoding="utf-8")
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    os.chdir(HISTORIES.parents[1])
    main(sys.argv[1:])
