"""Porcupine's own test data: Fencepost reaches the verdicts that Porcupine states."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from checkers.models.judge import judge_foreign
from checkers.vocabulary.verdict import Validity
from tests.support.command import ran
from tests.support.repository import ROOT

REQUIRED = "FENCEPOST_REQUIRE_PORCUPINE"
PORCUPINE = "github.com/anishathalye/porcupine@v1.3.1"


@pytest.fixture(scope="session")
def porcupine_module() -> Path:
    go = shutil.which("go")
    if go is None:
        _miss("no go is on PATH")
    found = ran([go, "mod", "download", "-json", PORCUPINE], cwd="/")  # fmt: skip
    if found.returncode:
        _miss(f"{PORCUPINE} cannot be had: {found.stderr[-200:] or found.stdout[-200:]}")
    return Path(json.loads(found.stdout)["Dir"])


def _miss(why: str) -> NoReturn:
    if os.environ.get(REQUIRED):
        pytest.fail(f"{why}, and {REQUIRED} is set")
    pytest.skip(why)


@pytest.mark.slow
def test_all_102_etcd_logs_of_porcupine_get_its_verdicts(porcupine_module: Path) -> None:
    known = re.findall(
        r"checkJepsen\(t, (\d+), (true|false)\)", (porcupine_module / "porcupine_test.go").read_text()
    )

    wrong = [
        number
        for number, right in known
        if judge_foreign(
            porcupine_module / f"test_data/jepsen/etcd_{int(number):03d}.log", "cas-register"
        ).verdict.validity
        is not (Validity.VALID if right == "true" else Validity.INVALID)
    ]

    assert len(known) == 102
    assert wrong == []


@pytest.mark.parametrize("name", ["c01-ok", "c01-bad", "c10-ok", "c10-bad"])
def test_porcupines_key_value_logs_get_its_verdicts(porcupine_module: Path, name: str) -> None:
    verdict, _ = judge_foreign(porcupine_module / f"test_data/kv/{name}.txt", "kv")

    assert verdict.validity is (Validity.VALID if name.endswith("ok") else Validity.INVALID)


@pytest.mark.slow
def test_the_peer_that_benchmarks_run_passes_its_own_tests(porcupine_module: Path) -> None:
    assert porcupine_module.exists()
    folder = ROOT / "benchmarks" / "porcupine"

    tested = ran(["go", "test", "-count=1", "./..."], cwd=folder)

    assert tested.returncode == 0, tested.stdout + tested.stderr
