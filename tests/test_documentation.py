"""The tables of the documentation that are made from files."""

from __future__ import annotations

import pytest

from harness.documentation import BEGIN, END, TABLES, with_table
from harness.schemas import ROOT
from harness.target import shipped
from harness.target_table import table


@pytest.mark.parametrize(("page", "made"), TABLES.items())
def test_the_committed_tables_are_current(page, made):
    committed = (ROOT / page).read_text(encoding="utf-8")

    assert with_table(committed, made()) == committed, "run `make schemas` and commit the result"


def test_each_target_that_ships_has_a_row():
    rows = table().splitlines()[2:]

    assert sorted(row.rpartition("[`")[2].partition("`")[0] for row in rows) == sorted(shipped())
    assert len({row.count("|") for row in rows}) == 1


def test_a_row_tells_what_is_expected_and_where_it_runs():
    rows = table().splitlines()

    assert (
        "| etcd | etcd | lock-key | inclusive | valid | Docker, local "
        "| [`etcd-same-etcd`](../targets/etcd-same-etcd.toml) |"
    ) in rows
    assert (
        "| redis | zookeeper | none |  | stale-write | Docker, local "
        "| [`redis-zookeeper-unfenced`](../targets/redis-zookeeper-unfenced.toml) |"
    ) in rows


def test_what_stands_around_the_table_is_kept():
    assert with_table(f"above\n{BEGIN}old\n{END}below\n", "new\n") == f"above\n{BEGIN}new\n{END}below\n"
