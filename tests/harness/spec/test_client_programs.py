"""Sections of target files for a client program."""

import pytest

from harness.engines.built_images import image_of
from harness.engines.local import LocalEngine
from harness.run import deployment
from harness.spec import load
from tests.support.target_files import SMALL, errors_in, errors_of


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


@pytest.mark.parametrize("kind", ["dynamodb", "hazelcast", "kubernetes", "pgbouncer", "postgres"])
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
    [
        ("hazelcast", ("hazelcast-1", "hazelcast-2", "hazelcast-3")),
        ("kubernetes", ("kubernetes-1",)),
        ("pgbouncer", ("pgbouncer-1",)),
    ],
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


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('ttl="1s"', "must be at least 2s: its leader has to renew it in time"),
        ('ttl="2500ms"', "must be whole seconds, as Leases of Kubernetes are"),
        ('version="1.30.4"', "must be a release of Kubernetes from 1.31.0"),
        ('version="1.34"', "must be a release of Kubernetes from 1.31.0"),
    ],
)
def test_a_wrong_key_of_kubernetes_is_refused(key: str, said: str) -> None:
    client = 'client={command=["app"], side="lock"}'

    (error,) = errors_of("etcd-postgres", "faults=[]", client, f'lock={{kind="kubernetes", {key}}}')

    assert said in error


@pytest.mark.parametrize(("key", "release"), [("", "1.34.4"), (', version="1.36.0"', "1.36.0")])
def test_kubernetes_is_built_in_the_chosen_release(key: str, release: str) -> None:
    target = load("etcd-postgres", ['client={command=["app"]}', f'lock={{kind="kubernetes"{key}}}'])

    (server,) = (each for each in deployment.topology(target, ()).servers if each.system == "kubernetes")

    assert server.release == release
    assert image_of("kubernetes", None, release).startswith(f"fencepost/kubernetes-release:{release}-")


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
