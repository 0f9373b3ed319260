"""What the tools of systems print, as recorded, and which loads they are put beside."""

from __future__ import annotations

from typing import Any

import pytest

from harness.bench.native import NativeTools, images
from harness.bench.series import RoundsSeries
from harness.spec import load
from harness.spec.reading import load_text

REDIS = """\
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"eval if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('INCR', KEYS[2])
 2 native/__rand_int__/lock native/token owner 2000","14705.88","0.065","0.008","0.071","0.103","0.127","0.295"
"""
PGBENCH = """\
pgbench (17.12 (Debian 17.12-0+deb13u1))
transaction type: multiple scripts
query mode: extended
number of clients: 1
latency average = 0.539 ms
initial connection time = 2.796 ms
tps = 1853.878906 (without initial connection time)
SQL script 1: /tmp/none.sql
 - weight: 1 (targets 50.0% of total)
 - 1825 transactions (49.3% of total, tps = 913.425757)
 - latency average = 0.352 ms
 - latency stddev = 0.155 ms
SQL script 2: /tmp/conditional-update.sql
 - weight: 1 (targets 50.0% of total)
 - latency average = 0.361 ms
 - latency stddev = 0.355 ms
"""
ETCD = """\

Summary:
  Total:\t0.8123 secs.
  Slowest:\t0.0215 secs.
  Fastest:\t0.0012 secs.
  Average:\t0.0058 secs.
  Stddev:\t0.0021 secs.
  Requests/sec:\t1231.0500
"""


class Printing:
    """A cluster whose programs print a text."""

    def __init__(self, said: str | None) -> None:
        self.said = said
        self.commands: list[tuple[str, Any, str]] = []

    def execute(self, server: str, command: Any, image: str = "") -> str | None:
        self.commands.append((server, command, image))
        return self.said


def loads(target: str, said: str | None) -> tuple[dict[str, Any], Printing]:
    cluster = Printing(said)
    return dict(NativeTools(load(target), cluster).of_loads(1)), cluster


def test_redis_benchmark_runs_the_script_of_a_grant() -> None:
    found, cluster = loads("redis-sqlite", REDIS)

    assert list(found) == [f"acquire/{clients} clients/own resources" for clients in (1, 8, 64)]
    one = found["acquire/1 clients/own resources"]
    assert (one.tool, one.rate, one.mean) == (
        "redis-benchmark",
        14705.88 / 2,
        0.065 * 2,
    )  # two requests for a lock
    assert [server for server, _, _ in cluster.commands] == ["redis-1"] * 3
    assert cluster.commands[1][1][:6] == ["redis-benchmark", "--csv", "-c", "8", "-n", "10000"]


def test_valkey_is_measured_by_its_own_tool() -> None:
    cluster = Printing(REDIS)
    target = load("redis-redis", overrides=("lock.flavour=valkey",))

    found = dict(NativeTools(target, cluster).of_loads(1))

    assert [command[0] for _, command, _ in cluster.commands] == ["valkey-benchmark"] * 3 + [
        "redis-benchmark"
    ] * 2
    assert {each.tool for each in found.values()} == {"valkey-benchmark", "redis-benchmark"}


def test_pgbench_writes_the_same_rows_in_each_way() -> None:
    found, cluster = loads("kahuna-postgres", PGBENCH)

    assert list(found) == [
        f"write/{fencing}/8 clients/own resources"
        for fencing in ("none", "conditional-update", "select-for-update", "upsert")
    ]
    assert found["write/none/8 clients/own resources"].rate == pytest.approx(1853.878906)
    shell = cluster.commands[2][1][-1]
    assert "BEGIN;" in shell
    assert "FOR UPDATE;" in shell
    assert "COMMIT;" in shell
    assert "$1" not in shell


def test_pgbench_draws_one_way_for_each_transaction() -> None:
    tools = NativeTools(load("redis-postgres"), Printing(PGBENCH))
    found = tools.of_rounds(RoundsSeries(clients=1, writings=()), 1)

    assert found == {"none": 0.352, "conditional-update": 0.361}


def test_etcds_own_benchmark_puts_as_many_transactions_as_a_lock_takes() -> None:
    found, cluster = loads("etcd-etcd", ETCD)

    lock = found["acquire/8 clients/own resources"]
    write = found["write/transaction/8 clients/own resources"]
    assert (lock.rate, lock.mean) == pytest.approx((410.35, 17.4))
    assert (write.rate, write.mean) == pytest.approx((1231.05, 5.8))
    assert {image for _, _, image in cluster.commands} == set(images(load("etcd-etcd")))


@pytest.mark.parametrize("said", [None, "", "unexpected", '"test","rps"\n"eval","1"'])
@pytest.mark.parametrize("target", ["redis-redis", "redis-postgres", "etcd-etcd"])
def test_a_tool_that_says_nothing_is_left_out(target: str, said: str | None) -> None:
    assert loads(target, said)[0] == {}


def test_a_tool_is_only_built_for_servers_that_are_started() -> None:
    running = 'name = "t"\nexpect = "valid"\n[lock]\nkind = "etcd"\nservers = ["127.0.0.1:2379"]\n'
    storage = '[storage]\nkind = "sqlite"\nfencing = "conditional-update"\n'

    assert images(load_text(running + storage, "t")) == []
    assert images(load("redis-postgres")) == []
