"""The table of the shipped targets in the documentation."""

from __future__ import annotations

from harness.schemas import ROOT
from harness.target import shipped
from harness.target_table import BEGIN, END, FILE, table, with_table


def test_the_committed_table_is_current():
    page = (ROOT / FILE).read_text(encoding="utf-8")

    assert with_table(page) == page, "run `make schemas` and commit the result"


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
    assert with_table(f"above\n{BEGIN}old\n{END}below\n") == f"above\n{BEGIN}{table()}{END}below\n"
