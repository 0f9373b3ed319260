"""`fencepost run TARGET --both`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import fencepost, refused


@pytest.mark.slow
def test_the_fenced_run_is_valid_and_its_unfenced_copy_is_not(tmp_path: Path) -> None:
    done = fencepost(
        tmp_path,
        *(
            "run",
            "--both",
            "--engine=local",
            "--format=json",
            "--set=workload.duration=12s",
            "redis-postgres",
        ),
    )

    assert done.returncode == 0, done.stderr
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["verdict"] for each in verdicts] == ["valid", "invalid"]
    assert verdicts[1]["expected"] == ["stale-write"]


def test_an_unfenced_target_is_refused(tmp_path: Path) -> None:
    done = refused(tmp_path, "run", "--both", "etcd-postgres", "redis-postgres-unfenced")

    assert done.returncode == 4
    assert done.stderr.startswith('redis-postgres-unfenced: storage.fencing is "none" already')
