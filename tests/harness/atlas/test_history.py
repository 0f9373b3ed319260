"""A race is a history that the checkers judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.atlas.history import write_history
from harness.atlas.race import Attempt, Operation, Race
from harness.run.recheck import judge_file

PUT_AND_DELETE = ("PUT", "DELETE")


def race(statuses: tuple[int | None, ...], methods: tuple[str, ...] = (), read: int | None = None) -> Race:
    attempts = tuple(
        Attempt(
            client=client,
            method=(methods or ("PUT",) * len(statuses))[client],
            called=7_000,
            returned=9_000 + client,
            status=status,
        )
        for client, status in enumerate(statuses)
    )
    seen = Attempt(client=2, method="GET", called=20_000, returned=21_000, status=read) if read else None
    return Race(key="prefix/create-held-7", attempts=attempts, read=seen)


def judged(folder: Path, operation: Operation, raced: Race) -> Any:
    return judge_file(write_history(folder / "cell", operation, raced))


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.REPLACE])
def test_two_winners_have_the_same_token(tmp_path: Path, operation: Operation) -> None:
    verdict = judged(tmp_path, operation, race((412, 200, None, 200))).verdict

    assert [each.anomaly for each in verdict.findings] == ["duplicate-token"]


@pytest.mark.parametrize("read", [200, 404])
def test_a_put_and_a_delete_of_one_version_are_a_stale_write(tmp_path: Path, read: int) -> None:
    verdict = judged(tmp_path, Operation.DELETE, race((200, 204), PUT_AND_DELETE, read)).verdict

    assert [each.anomaly for each in verdict.findings] == ["stale-write"]


@pytest.mark.parametrize(
    ("operation", "raced"),
    [
        (Operation.CREATE, race((412, 200, 409))),
        (Operation.CREATE, race((200, None, 503))),
        (Operation.REPLACE, race((404, 200))),
        (Operation.DELETE, race((200, 412), PUT_AND_DELETE, 200)),
        (Operation.DELETE, race((404, 204), PUT_AND_DELETE, 404)),
        (Operation.DELETE, race((200, None), PUT_AND_DELETE, 200)),
    ],
)
def test_one_winner_is_no_finding(tmp_path: Path, operation: Operation, raced: Race) -> None:
    assert judged(tmp_path, operation, raced).verdict.findings == ()


def test_the_history_has_every_request_and_its_own_key(tmp_path: Path) -> None:
    history = judged(tmp_path, Operation.CREATE, race((200, 412, None))).history

    assert [(op.process, op.outcome, op.token, op.error) for op in history.operations] == [
        (0, "ok", 1, None),
        (1, "fail", None, "answered 412"),
        (2, "info", None, "no answer"),
    ]
    assert {op.resource for op in history.operations} == {"create-held-7"}
    assert history.operations[0].called == 0
