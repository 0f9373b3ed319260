"""PgBouncer on Docker, the only engine that runs it."""

import re
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from harness.engines.engine import Engine
from harness.network.postgres_server import LOGIN as POSTGRES_LOGIN
from harness.network.topology import Address, ServerSpec, Topology

POOLED = ServerSpec(name="pgbouncer-1", system="pgbouncer", image="fencepost/postgres", cluster="lock")


@pytest.mark.slow
def test_two_clients_hold_one_lock_of_a_session(docker_engine: Engine, run_id: str, tmp_path: Path) -> None:
    topology = Topology(servers=(POOLED,), clients=2, partitions=True)
    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        with ExitStack() as stack:
            servers = (cluster.edge(client, "pgbouncer-1") for client in (0, 1))
            held = [granted(at, stack) for at in servers]
        version = cluster.environment()["servers"]["pgbouncer-1"]["version"]
        for _ in range(3):  # its lock file may have the number of another process of the next start
            cluster.kill(["pgbouncer-1"])
            cluster.restart(["pgbouncer-1"])

    assert held == [True, True]
    assert re.match(r"PgBouncer 1\.\d+\.\d+ before PostgreSQL 17", version)


def granted(at: Address, stack: ExitStack) -> bool:
    """Take the lock on a new connection, which stays open."""
    login = f"host={at.host} port={at.port} {POSTGRES_LOGIN}"
    client = stack.enter_context(psycopg.connect(login, autocommit=True))
    return client.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (True,)
