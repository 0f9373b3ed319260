"""Three nodes of Galera as a storage: what a target may set, and what it starts."""

from pathlib import Path

import pytest

from harness.engines.local_systems import never
from harness.run import deployment
from tests.support.target_files import error_in, read, target_text
from workloads.settings import GaleraSettings

ONE = 'kind = "mariadb"\nfencing = "upsert"\n'
THREE = f"{ONE}nodes = 3\n"
KILL = '[[faults]]\nkind = "kill"\nevery = "10s"\nlasts = "1s"\n'
NODES = ("galera-1", "galera-2", "galera-3")


def galera(storage: str, *sections: str, lock: str = 'kind = "redis"') -> str:
    return target_text('[workload]\nduration = "20s"', *sections, lock=lock, storage=storage)


def test_without_nodes_mariadb_is_one_server() -> None:
    assert read(galera(ONE)).storage.servers == ("mariadb",)


def test_clients_of_galera_get_its_settings() -> None:
    target = read(galera(f"{THREE}round_robin = true\nwsrep_sync_wait = 3"))

    settings = deployment.storage_settings(target, [], Path(), 1.0, "")

    assert isinstance(settings, GaleraSettings)
    assert (settings.round_robin, settings.sync_wait) == (True, 3)
    assert target.storage.servers == NODES


def test_a_node_that_flushes_later_is_not_durable() -> None:
    target = read(galera(f"{THREE}innodb_flush_log_at_trx_commit = 0"))

    nodes = deployment.topology(target, ()).servers[1:]

    assert [(node.durable, node.variables) for node in nodes] == [
        (False, {"FENCEPOST_GALERA_FLUSHING": "0"})
    ] * 3


def test_only_docker_runs_galera() -> None:
    refused = never(deployment.topology(read(galera(THREE)), ()))

    assert "the local engine has no mariadb, only" in str(refused)


def test_two_nodes_may_be_stopped_in_an_orderly_way() -> None:
    target = read(galera(THREE, f'{KILL}target = ["galera-1", "galera-3"]\norderly = true'))

    assert target.faults[0].aim() == ("galera-1", "galera-3")


@pytest.mark.parametrize(
    ("storage", "faults", "problem"),
    [
        (f"{ONE}nodes = 2", "", "storage.nodes = 2: must be 1 or 3"),
        (f"{THREE}wsrep_sync_wait = 9", "", "storage.wsrep_sync_wait = 9: must be at most 7"),
        (f"{ONE}round_robin = true", "", "round_robin is for several nodes of Galera: set nodes = 3"),
        (f"{ONE}wsrep_sync_wait = 7", "", "wsrep_sync_wait is for several nodes of Galera"),
        (f"{ONE}innodb_flush_log_at_trx_commit = 0", "", "set nodes = 3, or remove it"),
        (f"{THREE}innodb_flush_log_at_trx_commit = 3", "", "must be 0, 1 or 2"),
        (f'{THREE}image = "mariadb:11.8"', "", "need Fencepost's own image of MariaDB: remove image"),
        (
            f'{THREE}servers = ["127.0.0.1:3306"]\nuser = "tester"',
            "",
            "nodes = 3: is for servers that Fencepost starts: remove it, or storage.servers",
        ),
        (THREE, f'{KILL}target = "storage"\norderly = true', "stops all nodes of Galera, and an operator"),
        (
            THREE,
            f'{KILL}target = ["galera-1", "galera-2", "galera-3"]\norderly = true',
            "killed nodes find each other again",
        ),
        (THREE, f'{KILL}target = "storage:leader"', "mariadb has no leader: give one by its name"),
    ],
)
def test_what_galera_cannot_do_is_refused(storage: str, faults: str, problem: str) -> None:
    assert problem in error_in(galera(storage, *([faults] if faults else [])))
