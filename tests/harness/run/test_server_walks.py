"""A complete run that walks over hazards of a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.exit_codes import ExitCode
from tests.support.challenged import run_until_challenged
from tests.support.command import run_target

HAZARDS = [
    "before-write/before-expiry/storage",
    "before-release/before-expiry/storage",
    "before-write/regranted/storage/delayed",
    "before-release/regranted/storage/delayed",
]
CHANGES = (
    "workload.clients=6",
    f'faults=[{{kind="pause",target="storage",hazards={json.dumps(HAZARDS)}}}]',
    'require={stale_writes_attempted=0,hazards="all"}',
)


@pytest.mark.engine
@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_one_pause_of_a_server_hits_holds_of_several_resources(tmp_path: Path) -> None:
    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "etcd-postgres", duration, *CHANGES, engine="local"),
        seconds=10,
        was_challenged=lambda verdict: not verdict["hazards"]["missed"] and hit_several_holds(verdict),
    )

    verdict = json.loads(done.stdout)
    assert (done.returncode, verdict["verdict"]) == (ExitCode.AS_EXPECTED, "valid")
    assert sorted(verdict["hazards"]["hit"].keys() & HAZARDS) == sorted(HAZARDS)
    assert hit_several_holds(verdict)


def hit_several_holds(verdict: dict[str, Any]) -> bool:
    """Did a pause hit more holds than one?"""
    (windows,) = verdict["windows"]
    return bool(windows["hit"] > verdict["coverage"]["pauses"])
