"""Valid targets with a warning: a green run that means little, and passwords without TLS."""

from pathlib import Path

import pytest

from harness.core.exit_codes import ExitCode
from harness.spec import load
from harness.spec.reading import shipped
from harness.spec.warnings import readable_passwords, warnings
from tests.support.command import fencepost
from tests.support.target_files import read, target_text

LOGIN = 'user = "u"\npassword_env = "P"'
TLS = 'ca_file = "ca.pem"'
SERVICE = 'kind = "http"\nurl = "http://db.example:80"'


def sentences(lock: str = SERVICE, storage: str = f'{SERVICE}\nfencing = "service"') -> list[str]:
    return list(readable_passwords(read(target_text(lock=lock, storage=storage))))


LOCKS = [
    'kind = "etcd"',
    'kind = "etcd-lock"',
    'kind = "get-lock"',
    'kind = "nats"',
    'kind = "redis"',
    'kind = "redlock"\ntoken = "random"',
    'kind = "sql-lease"\nsystem = "postgres"',
    'kind = "zookeeper"',
]
STORAGES = [
    'kind = "etcd"\nfencing = "transaction"',
    'kind = "mariadb"\nfencing = "upsert"',
    'kind = "postgres"\nfencing = "upsert"',
    'kind = "redis"\nfencing = "script"',
    'kind = "zookeeper"\nfencing = "version-check"',
]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_service_on_another_machine_is_named(lock: str) -> None:
    servers = '["a.example:1", "b.example:2", "127.0.0.1:3"]' if "redlock" in lock else '["a.example:1"]'

    (sentence,) = sentences(lock=f"{lock}\nservers = {servers}\n{LOGIN}")

    assert sentence.startswith("lock.servers: the password goes to a.example:1")
    assert "in plain text" in sentence
    assert "127.0.0.1" not in sentence
    assert ("through a tunnel" if "nats" in lock else "give lock.ca_file") in sentence


@pytest.mark.parametrize("storage", STORAGES)
def test_a_storage_on_another_machine_is_named(storage: str) -> None:
    (sentence,) = sentences(storage=f'{storage}\nservers = ["[2001:db8::1]:1"]\n{LOGIN}')

    assert sentence.startswith("storage.servers: the password goes to [2001:db8::1]:1 in plain text")


@pytest.mark.parametrize("login", [f"{LOGIN}\n{TLS}", "", 'user = "u"\npassword_file = "p"\nca_file = "c"'])
def test_tls_and_no_password_are_silent(login: str) -> None:
    assert sentences(lock=f'kind = "etcd"\nservers = ["a.example:1"]\n{login}') == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.8.8", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::]"]
)
def test_this_machine_is_silent(host: str) -> None:
    assert sentences(lock=f'kind = "etcd"\nservers = ["{host}:1"]\n{LOGIN}') == []


def test_dynamodb_gets_a_signature_and_no_password() -> None:
    dynamodb = 'kind = "dynamodb"\nfencing = "conditional-expression"\nservers = ["a.example:1"]'

    assert sentences(storage=f"{dynamodb}\n{LOGIN}") == []


def test_every_kind_that_logs_in_is_known_here() -> None:
    """A new kind joins a list above, or is silent for a reason."""
    from harness.spec.attached import MayRunAlready
    from harness.spec.locks import LOCKS as ALL_LOCKS
    from harness.spec.storages import STORAGES as ALL_STORAGES

    known = {line.split('"')[1] for line in (*LOCKS, *STORAGES)}
    kinds = {
        kind
        for kinds in (ALL_LOCKS, ALL_STORAGES)
        for kind, model in kinds.items()
        if issubclass(model, MayRunAlready)
    }

    assert kinds - known == {"dynamodb", "s3"}


PAUSE = '{kind = "pause", target = "holder", at = "before-write", until = "superseded"}'


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("expect=valid", f"faults=[{PAUSE}]"), ["nothing compares tokens"]),
        (("expect=valid", "faults=[]"), ["nothing compares tokens", "no fence is challenged"]),
        ((f"faults=[{PAUSE}]",), []),
    ],
)
def test_a_target_whose_green_run_means_little_is_named(overrides: tuple[str, ...], said: list[str]) -> None:
    found = list(warnings(load("etcd-postgres-unfenced", overrides)))

    assert len(found) == len(said)
    assert all(words in each for words, each in zip(said, found, strict=True))


@pytest.mark.parametrize("name", shipped())
def test_no_target_that_ships_is_warned_of(name: str) -> None:
    assert list(warnings(load(name))) == []


def test_validate_says_so_and_ends_well(tmp_path: Path) -> None:
    done = fencepost(tmp_path, "validate", "etcd-postgres", "--set", "faults=[]")

    assert done.returncode == ExitCode.AS_EXPECTED
    assert "etcd-postgres: there is no [[faults]]: nothing makes a write stale" in done.stderr
