"""A race as a history, which Fencepost's own checkers judge.

A PUT that wins is a grant whose token is the epoch in its body. A PUT and a DELETE of the same version
are two writes of the next epoch: the condition is the fence, and it must accept only one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checkers.history.records import Outcome
from harness.atlas.race import CREATED, GONE, REPLACED, Attempt, ConditionalRequest, Race
from harness.files.atomic_files import USER_MODE, replace_file
from harness.files.run_folder import HISTORY


def write_history(folder: Path, operation: ConditionalRequest, race: Race) -> Path:
    """Write what one race proves as `history.jsonl` in a new folder, and return the file."""
    folder.mkdir()
    lines = (f"{json.dumps(line)}\n" for line in _lines(operation, race))
    replace_file(folder / HISTORY, lines, USER_MODE)
    return folder / HISTORY


def _lines(operation: ConditionalRequest, race: Race) -> Iterator[dict[str, Any]]:
    epoch = CREATED if operation is ConditionalRequest.CREATE else REPLACED
    read = [race.read] if race.read else []
    yield {
        "fencepost": 1,
        "target": f"atlas-{operation}",
        "initial": {"value": None, "token": epoch - 1},
        "require": {"stale_writes_attempted": 0},
        "clients": len(race.attempts) + len(read),
    }
    began = min(each.called for each in race.attempts)
    events = [event for each in [*_needed(race), *read] for event in _events(each, operation, epoch)]
    for event in sorted(events, key=lambda event: event["time"]):
        yield {**event, "time": event["time"] - began, "resource": race.key.rpartition("/")[2]}


def _needed(race: Race) -> Sequence[Attempt]:
    """Return the first two winners, the proof that an operation is not atomic; all if there are no two."""
    won = [each for each in race.attempts if each.outcome is Outcome.OK]
    return sorted(won, key=lambda each: each.returned)[:2] if len(won) > 1 else race.attempts


def _events(attempt: Attempt, operation: ConditionalRequest, epoch: int) -> Iterator[dict[str, Any]]:
    asked: dict[str, Any] = {"process": attempt.client}
    answered: dict[str, Any] = {}
    if attempt.method == "GET":
        asked |= {"f": "read"}
        answered = {"value": "DELETE" if attempt.status == GONE else "PUT", "token": epoch}
    elif operation is ConditionalRequest.DELETE:
        asked |= {"f": "write", "value": attempt.method, "token": epoch}
    else:
        asked |= {"f": "acquire", "owner": f"c{attempt.client}"}
        answered = {"token": epoch}
    outcome = attempt.outcome
    if attempt.method == "GET" and attempt.status == GONE:
        outcome = Outcome.OK
    yield {"time": attempt.called, "type": "invoke", **asked}
    error = "no answer" if attempt.status is None else f"answered {attempt.status}"
    answer = answered if outcome is Outcome.OK else {"error": error}
    yield {"time": attempt.returned, "type": str(outcome), **asked, **answer}
