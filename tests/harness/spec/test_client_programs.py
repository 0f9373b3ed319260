"""Sections of target files: a client program, a limit of memory, and a storage that Patroni runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.size import shown_size
from harness.engines.docker_compose import Project
from harness.engines.local import LocalEngine
from harness.engines.local_systems import never
from harness.run import deployment
from harness.spec import load
from harness.spec.locks import LOCKS
from harness.spec.storages import STORAGES
from tests.support.target_files import SMALL, error_in, errors_in, errors_of, read, target_text


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("[client]\ncommand = []", ["t.toml:11: client.command = []: must not be empty"]),
        ("[client]\ncommand = ['']", ["""t.toml:11: client.command.0 = "": must not be empty"""]),
        (
            "[client]\ncommand = 'app'",
            ["""t.toml:11: client.command = "app": must be a list in brackets, such as ["a", "b"]"""],
        ),
        (
            "[client]\ncomand = ['app']",
            [
                "t.toml:10: client.command: is missing",
                """t.toml:11: client.comand = ["app"]: unknown key in [client]; did you mean command?""",
            ],
        ),
    ],
)
def test_a_client_program_needs_a_command(text: str, errors: list[str]) -> None:
    assert errors_in(SMALL + text) == errors


@pytest.mark.parametrize("side", ["lock", "storage"])
def test_the_kind_client_needs_a_program(side: str) -> None:
    fencing = ', fencing="x"' if side == "storage" else ""

    errors = errors_of("etcd-postgres", "faults=[]", f'{side}={{kind="client"{fencing}}}')

    assert len(errors) == 1
    assert errors[0].endswith(f'{side}.kind = "client": needs a program: add [client] with its command')


@pytest.mark.parametrize("kind", ["dynamodb", "hazelcast", "pgbouncer", "postgres"])
@pytest.mark.parametrize("client", [[], ['client={command=["app"], side="storage"}']])
def test_a_server_for_a_programs_lock_needs_that_program(kind: str, client: list[str]) -> None:
    errors = errors_of("etcd-postgres", "faults=[]", *client, f'lock={{kind="{kind}"}}')

    assert len(errors) == 1
    assert errors[0].endswith(
        f'lock.kind = "{kind}": needs a program: Fencepost has no lock of its own on {kind}; '
        'add [client] with its command, and side = "lock" if it does no more'
    )


def test_a_programs_lock_gets_a_server_apart_from_the_storages() -> None:
    client = 'client={command=["app"], side="lock"}'

    target = load("etcd-postgres", [client, 'lock={kind="postgres"}'])

    assert target.sides == {"lock": ("postgres-1",), "storage": ("postgres",)}


@pytest.mark.parametrize(
    ("kind", "servers"),
    [("hazelcast", ("hazelcast-1", "hazelcast-2", "hazelcast-3")), ("pgbouncer", ("pgbouncer-1",))],
)
def test_the_local_engine_refuses_a_programs_servers_by_name(kind: str, servers: tuple[str, ...]) -> None:
    target = load("etcd-postgres", ['client={command=["app"], side="lock"}', f'lock={{kind="{kind}"}}'])
    topology = deployment.topology(target, ())

    assert target.sides["lock"] == servers
    assert str(LocalEngine().refusal(topology)).startswith(f"the local engine has no {kind}, only etcd")


@pytest.mark.parametrize(
    ("ttl", "said"),
    [
        ("1s", "must be at least 2s: clients of Hazelcast"),
        ("2500ms", "must be whole seconds, as Hazelcast's"),
    ],
)
def test_a_session_of_hazelcast_lasts_whole_seconds(ttl: str, said: str) -> None:
    client, lock = 'client={command=["app"], side="lock"}', 'lock={{kind="hazelcast", ttl="{}"}}'

    (error,) = errors_of("etcd-postgres", "faults=[]", client, lock.format(ttl))
    servers = deployment.topology(load("etcd-postgres", [client, lock.format("6s")]), ()).servers

    assert said in error
    assert [dict(server.variables) for server in servers] == [{"FENCEPOST_HAZELCAST_SESSION": "6"}] * 3 + [{}]


def test_a_program_can_be_combined_with_servers_but_not_with_classes() -> None:
    client = 'client={command=["app", "x"]}'

    target = load("etcd-postgres", [client, 'lock={kind="client"}'])
    errors = errors_of("etcd-postgres", "faults=[]", client, 'lock={kind="mine:Lock"}')

    assert target.client.command == ("app", "x")
    assert (target.lock.servers, target.storage.servers) == ((), ("postgres",))
    assert len(errors) == 1
    assert 'lock.kind = "mine:Lock": is a class, but the program of [client] cannot call one' in errors[0]


def test_a_program_of_one_side_leaves_the_other_to_any_kind() -> None:
    client = 'client={command=["app"], side="lock"}'

    target = load("etcd-postgres", [client, 'lock={kind="client"}'])
    of_a_class = load("etcd-postgres", ["faults=[]", client, 'storage={kind="mine:Store", fencing="x"}'])

    assert target.program_sides == of_a_class.program_sides == {"lock"}


def test_a_program_of_one_side_does_not_do_the_other() -> None:
    errors = errors_of(
        "etcd-postgres",
        "faults=[]",
        'client={command=["app"], side="lock"}',
        'lock={kind="mine:Lock"}',
        'storage={kind="client", fencing="x"}',
    )

    assert len(errors) == 2
    assert 'lock.kind = "mine:Lock": is a class, but the program of [client] cannot call one' in errors[0]
    assert errors[1].endswith(
        'storage.kind = "client": needs a program, but client.side leaves the storage to Fencepost: '
        'name another kind, or set client.side to "both"'
    )


ETCD = 'kind = "etcd"'
POSTGRES = 'kind = "postgres"\nfencing = "upsert"'


def test_each_server_of_the_side_has_the_limit() -> None:
    topology = deployment.topology(read(target_text(lock=f'{ETCD}\nmemory = "1.5GB"')), ())

    assert {server.name: server.memory for server in topology.servers} == {
        "etcd-1": 1_500_000_000,
        "etcd-2": 1_500_000_000,
        "etcd-3": 1_500_000_000,
        "postgres": 0,
    }


def test_compose_gets_the_limit_of_the_servers_that_have_one(tmp_path: Path) -> None:
    topology = deployment.topology(read(target_text(storage=f'{POSTGRES}\nmemory = "80MB"')), ())
    project = Project(topology, {"fencepost": "run"}, tmp_path / "override.yaml")

    services = json.loads(json.dumps(project._override()))["services"]

    assert (services["postgres"]["mem_limit"], services["postgres"]["memswap_limit"]) == (
        80_000_000,
        80_000_000,
    )
    assert not [name for name, each in services.items() if "mem_limit" in each and name != "postgres"]


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ('"1MB"', "must be from 8MB to 1TB"),
        ('"2TB"', "must be from 8MB to 1TB"),
        ('"99999999999999TB"', "must be from 8MB to 1TB"),
        ('"1GiB"', "must be a size such as"),
        ("512", "must be a size such as"),
    ],
)
def test_an_impossible_limit_is_refused(memory: str, why: str) -> None:
    assert why in error_in(target_text(lock=f"{ETCD}\nmemory = {memory}"))


def test_servers_that_already_run_have_no_limit_of_ours() -> None:
    error = error_in(target_text(lock=f'{ETCD}\nservers = ["a:1"]\nmemory = "1GB"'))

    assert "memory" in error
    assert "is for servers that Fencepost starts" in error


@pytest.mark.parametrize(
    ("lock", "storage"),
    [('kind = "m:C"\nmemory = "1GB"', POSTGRES), (ETCD, 'kind = "m:C"\nfencing = "x"\nmemory = "1GB"')],
)
def test_a_class_without_servers_has_none_to_limit(lock: str, storage: str) -> None:
    error = error_in(target_text(lock=lock, storage=storage))

    assert "for servers that Fencepost starts: set server too" in error


@pytest.mark.parametrize("model", [*LOCKS.values(), *STORAGES.values()], ids=lambda model: model.__name__)
def test_every_kind_with_servers_to_start_has_the_key(model: Any) -> None:
    starts = "image" in model.model_fields or isinstance(getattr(model, "image", None), str)

    assert ("memory" in model.model_fields) == starts


@pytest.mark.parametrize(("size", "shown"), [(80_000_000, "80MB"), (1_500_000_000, "1500MB"), (1, "1MB")])
def test_a_limit_is_shown_as_files_write_it(size: int, shown: str) -> None:
    assert shown_size(size) == shown


PROMOTION = 'kind = "failover"\ntarget = "storage"'
PATRONI = 'kind = "postgres"\nfencing = "upsert"\nreplication = "synchronous"\nmanager = "patroni"\n'
TWO_PRIMARIES = 'old_primary = "paused"\nlasts = "2s"'


def managed(fault: str, lock: str = 'kind = "etcd"', storage: str = PATRONI, duration: str = "50s") -> str:
    workload = f'[workload]\nduration = "{duration}"'
    return target_text(workload, f"[[faults]]\n{fault}", lock=lock, storage=storage)


def test_only_docker_runs_patroni() -> None:
    target = read(managed(f'{PROMOTION}\nheld = "1 ttl"'))

    refused = never(deployment.topology(target, target.faults))

    assert "the local engine has no Patroni, which runs postgres: use Docker" in str(refused)


def test_a_primary_may_be_paused_until_patroni_demotes_it() -> None:
    assert read(managed(f'{PROMOTION}\nold_primary = "paused"')).faults[0].lasts is None


@pytest.mark.parametrize(
    ("fault", "changed", "problem"),
    [
        (
            f'{PROMOTION}\nold_primary = "cut-off"',
            {},
            'keeps its key in etcd, so that no standby is promoted; give "killed" or "paused"',
        ),
        (f"{PROMOTION}\n{TWO_PRIMARIES}", {}, "which demotes the old primary itself: remove it"),
        (PROMOTION, {"duration": "30s"}, "it must be at least 37s"),
        (f'{PROMOTION}\nheld = "5s"', {"duration": "40s"}, "it must be at least 45s"),
        (PROMOTION, {"lock": 'kind = "redis"'}, 'set lock.kind "etcd" or "etcd-lock"'),
        (
            PROMOTION,
            {"lock": 'kind = "etcd"\nservers = ["127.0.0.1:2379"]'},
            "in the etcd of the lock, which Fencepost must start",
        ),
        (
            'kind = "kill"\ntarget = "lock"\nevery = "8s"\nlasts = "1s"',
            {},
            "the only such fault is a failover of the storage",
        ),
        (
            PROMOTION,
            {"storage": PATRONI.replace('replication = "synchronous"', "")},
            'manager "patroni" needs a standby',
        ),
    ],
)
def test_what_patroni_cannot_do_is_refused(fault: str, changed: dict[str, str], problem: str) -> None:
    assert problem in error_in(managed(fault, **changed))
