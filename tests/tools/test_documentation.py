"""The generated tables of the documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.engines.local import LocalEngine
from harness.run.deployment import topology
from harness.target import load, shipped
from tests.support.repository import ROOT
from tools.tables import BEGIN, END, TABLES, with_table
from tools.target_table import table


@pytest.mark.parametrize(("page", "made"), TABLES.items())
def test_the_committed_tables_are_current(page: str, made: Callable[..., Any]) -> None:
    committed = (ROOT / page).read_text(encoding="utf-8")

    assert with_table(committed, made()) == committed, "run `make schemas` and commit the result"


def test_each_shipped_target_has_a_row() -> None:
    rows = table().splitlines()[2:]

    assert sorted(row.rpartition("[`")[2].partition("`")[0] for row in rows) == sorted(shipped())
    assert len({row.count("|") for row in rows}) == 1


def test_a_row_has_the_expectation_and_the_engines() -> None:
    rows = table().splitlines()

    assert (
        "| etcd | etcd | lock-key | inclusive | valid | Docker, local "
        "| [`etcd-same-etcd`](../targets/etcd-same-etcd.toml) |"
    ) in rows
    assert (
        "| redis | zookeeper | none |  | stale-write | Docker, local "
        "| [`redis-zookeeper-unfenced`](../targets/redis-zookeeper-unfenced.toml) |"
    ) in rows


def test_a_row_lists_the_local_engine_only_if_it_can_run_the_target() -> None:
    rows = table().splitlines()[2:]
    local = [row.rpartition("[`")[2].partition("`")[0] for row in rows if "| Docker, local |" in row]
    needs = (topology(target, target.faults) for target in map(load, local))

    refusals = [refusal for need in needs if (refusal := LocalEngine().refusal(need))]

    assert not [refusal for refusal in refusals if isinstance(refusal, ConfigurationError)]


def test_a_target_that_moves_a_clock_needs_docker() -> None:
    assert any("| Docker | [`redlock-postgres-clock`]" in row for row in table().splitlines())


def test_the_text_around_the_table_is_kept() -> None:
    assert with_table(f"above\n{BEGIN}old\n{END}below\n", "new\n") == f"above\n{BEGIN}new\n{END}below\n"
