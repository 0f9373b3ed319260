"""Servers that several runs use one after another: handed on when they are clean, otherwise replaced."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from harness.core.errors import InfrastructureError
from harness.engines import reuse
from harness.engines.engine import Cluster
from harness.engines.reuse import ReusingEngine, reusable
from harness.network.probe import reply
from harness.network.topology import NetworkEdge, ServerSpec, Topology
from harness.processes import run_notes
from tests.support.missing import need
from tests.support.selection import BOTH_ENGINES
from tests.support.systems import redis_at, run_named

pytestmark = pytest.mark.engine

LOCK = ServerSpec(name="redis-1", system="redis")
REDIS = Topology(servers=(LOCK,), clients=2, partitions=True)
EDGE = NetworkEdge(0, "redis-1")


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReusingEngine]:
    """The local engine, or that of a parameter."""
    found = request.getfixturevalue(f"{getattr(request, 'param', 'local')}_engine")
    need(found, REDIS)
    with closing(ReusingEngine(found, tmp_path / "servers")) as reusing:
        yield reusing


def use(engine: ReusingEngine, folder: Path, topology: Topology = REDIS) -> tuple[int | None, str]:
    """Make a run that does nothing; return how many had its servers before, and what says which they are."""
    with engine.start(topology, run_named("own"), folder, print) as cluster:
        return cluster.earlier_runs, identity(cluster)


def identity(cluster: Cluster) -> str:
    with closing(redis_at(cluster.servers[0].address)) as connection:
        info: str = connection.execute("INFO", "server")
    return next(line for line in info.splitlines() if line.startswith("run_id:"))


@pytest.mark.parametrize("engine", BOTH_ENGINES, indirect=True)
def test_the_next_run_gets_the_same_servers(engine: ReusingEngine, tmp_path: Path) -> None:
    (first, before), (second, after) = use(engine, tmp_path), use(engine, tmp_path)

    assert (first, second) == (0, 1)
    assert before == after


@pytest.mark.parametrize("engine", BOTH_ENGINES, indirect=True)
def test_what_a_run_left_on_its_edges_is_gone(engine: ReusingEngine, tmp_path: Path) -> None:
    with engine.start(REDIS, run_named("own"), tmp_path, print) as cluster:
        left_open = redis_at(cluster.edge(1, "redis-1"))
        left_open.execute("PING")
        assert cluster.toxiproxy is not None
        cluster.toxiproxy.cut(EDGE, "both")

    with engine.start(REDIS, run_named("own"), tmp_path, print) as cluster:
        assert cluster.earlier_runs == 1
        assert reply(cluster.edge(0, "redis-1"), "redis", within=2) is not None
        assert left_open._has_something_to_read(within=2)  # the end of the connection


def test_servers_of_a_run_that_ended_badly_are_not_handed_on(engine: ReusingEngine, tmp_path: Path) -> None:
    bad: list[str] = []
    with pytest.raises(RuntimeError, match="of this run"):
        fail(engine, tmp_path, bad)

    earlier, good = use(engine, tmp_path)

    assert earlier == 0
    assert [good] != bad


def fail(engine: ReusingEngine, folder: Path, seen: list[str]) -> None:
    with engine.start(REDIS, run_named("own"), folder, print) as cluster:
        seen.append(identity(cluster))
        raise RuntimeError("of this run")


def test_a_server_that_died_between_two_runs_is_replaced(engine: ReusingEngine, tmp_path: Path) -> None:
    with engine.start(REDIS, run_named("own"), tmp_path, print) as found:
        cluster: Any = found
    next(child for child in cluster.children if child.name == "redis-1").kill()
    said: list[str] = []

    with engine.start(REDIS, run_named("own"), tmp_path, said.append) as found:
        assert found.earlier_runs == 0
        assert identity(found)

    assert any("the servers of the run before are replaced: redis-1 ended" in line for line in said), said


@pytest.mark.parametrize(
    "own",
    [
        replace(REDIS, killed=("redis-1",)),
        replace(REDIS, clocks=("redis-1",)),
        replace(REDIS, servers=(replace(LOCK, durable=False),)),
        replace(REDIS, servers=(LOCK, replace(LOCK, name="redis-replica", follows="redis-1"))),
        replace(REDIS, servers=()),
    ],
    ids=["killed", "clock", "without persistence", "replica", "no servers"],
)
def test_servers_that_cannot_be_proven_clean_are_not_reused(own: Topology) -> None:
    assert reusable(REDIS)
    assert not reusable(own)


def test_a_run_with_a_kill_neither_takes_nor_leaves_servers(engine: ReusingEngine, tmp_path: Path) -> None:
    _, kept = use(engine, tmp_path)

    earlier, own = use(engine, tmp_path / "killed", replace(REDIS, killed=("redis-1",)))
    after = use(engine, tmp_path)

    assert earlier is None
    assert after[0] == 0
    assert len({kept, own, after[1]}) == 3


def test_other_servers_take_the_place_of_those_kept(engine: ReusingEngine, tmp_path: Path) -> None:
    use(engine, tmp_path)

    other = use(engine, tmp_path, replace(REDIS, clients=3))

    assert other[0] == 0
    assert len(list((tmp_path / "servers").glob("2*"))) == 1


def test_edges_that_are_never_cut_need_no_other_servers(engine: ReusingEngine, tmp_path: Path) -> None:
    use(engine, tmp_path)

    assert use(engine, tmp_path, replace(REDIS, partitions=False))[0] == 1


def test_servers_are_replaced_after_enough_runs(
    engine: ReusingEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reuse, "MOST_RUNS", 2)

    assert [use(engine, tmp_path)[0] for _ in range(3)] == [0, 1, 0]


def test_nothing_is_left_once_the_engine_is_closed(engine: ReusingEngine, tmp_path: Path) -> None:
    earlier = list(run_notes.read_notes().read)  # of tests before, in the same process
    use(engine, tmp_path)
    noted = list(run_notes.read_notes().read)

    engine.close()

    assert len(noted) > len(earlier)
    assert list(run_notes.read_notes().read) == earlier
    assert not list((tmp_path / "servers").glob("2*"))


class UnusableEngine:
    """An engine whose servers log why they do not start."""

    def start(self, _topology: Any, _run_id: Any, folder: Path, _notify: Any) -> NoReturn:
        (folder / "logs" / "redis-1.log").write_text("no space left")
        raise InfrastructureError("redis-1 does not start")


def test_the_logs_of_servers_that_do_not_start_stay_in_the_runs_folder(tmp_path: Path) -> None:
    unusable: Any = UnusableEngine()
    engine = ReusingEngine(unusable, tmp_path / "servers")

    with pytest.raises(InfrastructureError), engine.start(REDIS, "run", tmp_path / "run", print):
        pytest.fail("they counted as usable")

    assert (tmp_path / "run" / "logs" / "redis-1.log").read_text() == "no space left"
    assert [each for each in (tmp_path / "servers").iterdir() if not each.is_symlink()] == []
