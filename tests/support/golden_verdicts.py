"""The findings in every history of the tests: facts in a golden file of each, the words for them in few.

    make golden        # or: .venv/bin/python -m tests.support.golden_verdicts

writes the current findings. Read the difference before you commit it: a change of words may be
an improvement, a change of facts is a change of verdicts.

- `NAME.facts.json` next to each literal, foreign and recorded history;
- `words.txt`, `foreign/words.txt` and `zoo/words.txt`: see `golden_words`;
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

import fencepost
from checkers.history.records import Op
from checkers.vocabulary.verdict import Finding, Verdict
from tests.support.foreign_histories import CASES, FACTS, model_of
from tests.support.generated_histories import GENERATED, Case
from tests.support.golden_words import write_words
from tests.support.literal_histories import LITERAL, judged
from tests.support.recorded_runs import RECORDINGS, recorded, unpack

HISTORIES = RECORDINGS.parent
MASS = HISTORIES / "generated"

Judge = Callable[[], Verdict]


@dataclass(frozen=True, slots=True)
class Source:
    """A history in a file, and the golden file of its facts."""

    path: Path  # without the ending of the golden file
    judge: Judge

    @property
    def facts(self) -> Path:
        return self.path.with_name(f"{self.path.name}{FACTS}")


def sources() -> dict[str, Source]:
    """Every history that is in a file, by name."""
    return {
        **{name: Source(path.with_suffix(""), partial(judged, name)) for name, path in LITERAL.items()},
        **{f"foreign/{path.name}": Source(path, partial(_foreign, path)) for path in CASES},
        **{f"zoo/{name}": Source(RECORDINGS / name, partial(_recorded, name)) for name in recorded()},
    }


def _foreign(path: Path) -> Verdict:
    return fencepost.judge_foreign(path, model_of(path)).verdict


def _recorded(name: str) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        run = unpack(name, Path(folder))
        commits = run / "commits.jsonl"
        order = fencepost.read_commits(commits) if commits.exists() else None
        verdict = fencepost.judge(fencepost.read(run / "history.jsonl"), order, same_run=True)
        verdict.to_document()  # explained while the files exist
        return verdict


def facts_of(verdict: Verdict) -> str:
    """Everything in verdict.json that does not depend on wording, one line for each finding."""
    document = verdict.to_document()
    plain = {
        "verdict": document["verdict"],
        "expected": document["expected"],
        "as_expected": document["as_expected"],
        **({"reasons": document["reason_kinds"]} if document["reasons"] else {}),
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
    named = ("anomaly", "rule", "resource", "accused", "against", "operations", "also")
    fact = {name: finding[name] for name in named if finding[name]}
    if cause := finding["cause"]:
        fact["cause"] = {name: value for name, value in cause.items() if value or name == "certain"}
    if earlier := finding["caused_by"]:
        fact["caused_by"] = {"anomaly": earlier["anomaly"], "operations": earlier["operations"]}
    steps = zip(finding["step_lines"], finding["step_faults"], strict=True)
    return fact | {"story": len(finding["story"]), "steps": [lines + faults for lines, faults in steps]}


def lines_of_facts(kind: str) -> list[str]:
    """A line for each generated history of a kind."""
    return [line_of_facts(number, case) for number, case in enumerate(GENERATED[kind].cases(kind))]


def line_of_facts(number: int, case: Case) -> str:
    """The facts of a small history: `accused <because [proof]`, in line numbers.

    The second word is a checksum of the history itself: if it differs, the generator has changed.
    """
    verdict = fencepost.judge(case.history, case.commits, same_run=True)
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
    verdicts: dict[str, Verdict] = {}
    for name in names or (*known, *GENERATED):
        if name in known:
            verdicts[name] = known[name].judge()
            known[name].facts.write_text(facts_of(verdicts[name]), encoding="utf-8")
        else:
            MASS.mkdir(exist_ok=True)
            mass_of(name).write_text("".join(f"{line}\n" for line in lines_of_facts(name)), encoding="utf-8")
        sys.stdout.write(f"{name}\n")
    write_words(verdicts, tuple(known))


if __name__ == "__main__":
    os.chdir(HISTORIES.parents[1])
    main(sys.argv[1:])
