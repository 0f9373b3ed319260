"""The recipe of docs/reports.md: what a finding names is wrong by itself, cut out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.run.recheck import recheck
from tests.support.literal_histories import BAD, LITERAL, commits_beside


def stored(lines: list[dict[str, Any]]) -> list[Any]:
    """The values that events and commits carry, a list that an append wrote among them, and the fences."""
    values = [line[name] for line in lines for name in ("value", "written") if name in line]
    return values + [("fence", line["token"]) for line in lines if "fence" in (line.get("f"), *line)]


def kept_events(lines: list[dict[str, Any]], named: list[int]) -> list[dict[str, Any]]:
    """The first line, those of the nemesis, and those that the finding names."""
    return [
        line
        for number, line in enumerate(lines, start=1)
        if number == 1 or line["process"] == "nemesis" or number in named
    ]


def kept_commits(
    commits: list[dict[str, Any]], events: list[dict[str, Any]], kept: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Those whose value, or fence, a kept line has, and those that no client sent."""
    sent = stored([event for event in events[1:] if event["f"] in {"write", "append", "fence"}])
    return [
        commit for commit in commits if (own := stored([commit])[0]) in stored(kept[1:]) or own not in sent
    ]


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write(file: Path, lines: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_what_a_finding_names_shows_it_again_when_it_is_cut_out(name: str, tmp_path: Path) -> None:
    history = LITERAL[name]
    order = commits_beside(history)
    whole = recheck(history, order).document
    events = read(history)
    for finding in whole.findings:
        kept = kept_events(events, finding.operations)
        cut = write(tmp_path / "cut.jsonl", kept)
        cut_order = order and write(tmp_path / "order.jsonl", kept_commits(read(order), events, kept))

        again = recheck(cut, cut_order).document

        found = {(each.anomaly, each.resource) for each in again.findings}
        assert (finding.anomaly, finding.resource) in found
