"""Each planted bug of a storage in MariaDB, shown directly on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.topology import ServerSpec
from tests.support.systems import commits_of, endpoints, names, nothing, started, storage_settings
from workloads.client import NotApplied
from workloads.mariadb_connection import OURS, MariadbConnection
from workloads.settings import StorageSettings
from workloads.storages import load_kind, mariadb
from workloads.zoo import snapshot_isolation_off

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers

READ_THEN_UPDATE = "workloads.zoo.snapshot_isolation_off:ReadThenUpdate"


@pytest.fixture(scope="module")
def settings(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StorageSettings]:
    spec = ServerSpec(name="mariadb", system="mariadb")
    cluster: Cluster
    with started(docker_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        found = storage_settings("mariadb", endpoints(cluster, "mariadb"), timeout=5)
        mariadb.set_up(found, [])
        yield found


@pytest.fixture
def resource(settings: StorageSettings) -> str:
    name = next(names)
    with closing(mariadb.make_connections(settings)[0]) as connection:
        connection.execute("INSERT INTO register VALUES (%(name)s, NULL, -1, -1)", {"name": name})
    return name


def refusal_of(call: Callable[[], object]) -> str:
    """What a call is refused with; "" if it is not."""
    try:
        call()
    except NotApplied as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("fencing", "accepted", "code"),
    [(snapshot_isolation_off.OFF, [2, 1], ""), ("snapshot-isolation", [2], "(1020)")],
    ids=["bug", "twin"],
)
def test_an_update_from_an_old_snapshot_is_refused_unless_that_is_off(
    settings: StorageSettings, resource: str, fencing: str, accepted: list[int], code: str
) -> None:
    own = storage_settings(READ_THEN_UPDATE, settings.endpoints, fencing=fencing)
    late: Any = load_kind(READ_THEN_UPDATE).connect(own)
    newer = mariadb.connect(storage_settings("mariadb", settings.endpoints, fencing="conditional-update"))

    def meanwhile() -> None:
        newer.write(resource, 2, "newer", nothing)

    refused = refusal_of(lambda: late.write(resource, 1, "older", meanwhile))
    late.reconnect()
    newer.reconnect()

    assert refused[-6:] == code
    assert [token for token, _ in commits_of("mariadb", settings.endpoints, resource)] == accepted


CREATE = (
    "CREATE TABLE of_resources (id INT AUTO_INCREMENT PRIMARY KEY, resource VARCHAR(9), mark BIGINT{index})"
)
LOCK_ROW = "SELECT mark FROM of_resources WHERE resource = %(resource)s FOR UPDATE"


@pytest.mark.parametrize(("index", "code"), [("", "(1205)"), (", INDEX (resource)", "")], ids=["bug", "twin"])
def test_for_update_without_an_index_waits_for_every_other_resource(
    settings: StorageSettings, index: str, code: str
) -> None:
    with (
        closing(mariadb.make_connections(settings)[0]) as holder,
        closing(MariadbConnection(settings, OURS, "innodb_lock_wait_timeout = 1")) as other,
    ):
        holder.execute(CREATE.format(index=index))
        holder.execute("INSERT INTO of_resources (resource, mark) VALUES ('r0', 0), ('r1', 0)")
        holder.execute("BEGIN")
        holder.execute(LOCK_ROW, {"resource": "r0"})

        refused = refusal_of(lambda: other.execute(LOCK_ROW, {"resource": "r1"}))

        holder.execute("COMMIT")
        holder.execute("DROP TABLE of_resources")
    assert refused[-6:] == code
