"""What is said before a run: why servers refuse it, passwords in plain text, and the user's own classes."""

import socket
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.core.events import Notice
from harness.engines.local import LocalEngine
from harness.run.refusals import as_error
from harness.run.runner import RunOptions, run
from harness.spec import load
from tests.support.command import fencepost
from tests.support.http_servers import listening
from workloads.client import NotApplied, Unknown


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            'FATAL: password authentication failed for user "tester"',
            "check storage.user and storage.password_env",
        ),
        ('FATAL: database "weak" does not exist', "name the database in storage.database"),
        (
            'FATAL: no pg_hba.conf entry for host "h", user "u", database "d", no encryption',
            "give storage.ca_file",
        ),
        ('FATAL: no pg_hba.conf entry for host "h", user "u", database "d", SSL encryption', "pg_hba.conf"),
        ('FATAL: role "tester" is not permitted to log in', "ALTER ROLE … LOGIN"),
        ("permission denied for database app", "GRANT CONNECT, CREATE ON DATABASE"),
        (
            "INVALID_ARGUMENT: etcdserver: authentication failed, invalid user ID or password",
            "check storage.user and storage.password_env",
        ),
        ("PERMISSION_DENIED: etcdserver: permission denied", "readwrite on the prefix fencepost"),
        ("INVALID_ARGUMENT: etcdserver: user name is empty", "give storage.user and storage.password_env"),
        ("FATAL: connection requires a valid client certificate", "give storage.cert_file"),
        ("SSL error: tlsv13 alert certificate required", "give storage.cert_file"),
        ("SSL error: tlsv1 alert unknown ca", "storage.cert_file must be signed by an authority"),
        ('private key file "k" has group or world access', "chmod 600"),
        ("NOPERM User tester has no permissions to run the 'eval' command", "ACL SETUSER"),
        ("this user has no permissions to run the 'eval' command", "ACL SETUSER"),
        ("NoAuthError", "the rights to create, delete, read and write (cdrw) on the znode /"),
        ("An error occurred (AccessDeniedException) when calling DeleteTable", "dynamodb:*"),
        ("An error occurred (UnrecognizedClientException) when calling it", "check storage.user"),
    ],
)
def test_a_refusal_is_shown_with_its_remedy(said: str, remedy: str) -> None:
    error = as_error(NotApplied(said), f"storage.servers: a:1: {said}", "storage")

    assert isinstance(error, ConfigurationError)
    assert str(error).startswith(f"storage.servers: a:1: {said}; ")
    assert remedy in str(error)


def test_a_refusal_from_the_middle_of_a_script_is_a_wrong_configuration() -> None:
    said = "ACL failure in script: User tester has no permissions to run the 'xadd' command"

    error = as_error(Unknown(said), f"storage.servers: a:1: {said}", "storage")

    assert isinstance(error, ConfigurationError)
    assert "ACL SETUSER" in str(error)


def test_a_server_that_does_not_answer_is_an_infrastructure_failure() -> None:
    error = as_error(NotApplied("no answer in time"), "lock.servers: a:1: no answer in time", "lock")

    assert isinstance(error, ServerNotReadyError)
    assert str(error) == "lock.servers: a:1: no answer in time"


TARGET = """
name = "far"
expect = "valid"
[lock]
kind = "redis"
servers = ["{at}"]
password_env = "SECRET"
[storage]
kind = "sqlite"
fencing = "conditional-update"
"""


@pytest.fixture
def far_redis() -> Iterator[str]:
    """The address of something that answers as Redis does, at an address that is not loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no network")
        host = route.getsockname()[0]

    def answer(connection: socket.socket) -> None:
        with connection:
            if connection.recv(100):
                connection.sendall(b"-NOAUTH Authentication required.\r\n")

    with listening(answer, host) as at:
        yield at


def test_a_run_says_at_its_beginning_that_a_password_can_be_read(
    far_redis: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of redis")
    (tmp_path / "t.toml").write_text(TARGET.format(at=far_redis))

    with closing(run(load(tmp_path / "t.toml"), LocalEngine(), RunOptions(runs=tmp_path / "runs"))) as events:
        _, notice = islice(events, 2)

    assert isinstance(notice, Notice)
    assert f"the password goes to {far_redis} in plain text" in notice.text


MINE = """
name = "mine"
expect = ["stale-write"]
lock = {{kind = "{lock}"}}
storage = {{kind = "sqlite", fencing = "none"}}
"""


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        (
            "mine:MyLock",
            "mine.toml: validate does not load mine:MyLock: a run does, before it starts servers\n",
        ),
        ("mine:MyLok", "mine.py has no MyLok; did you mean MyLock?\n"),
        ("workloads.zoo.wall_clock_token:Lock", ""),
    ],
    ids=["the user's", "missing", "that ships"],
)
def test_validate_looks_for_a_class_and_does_not_load_it(tmp_path: Path, lock: str, said: str) -> None:
    (tmp_path / "mine.py").write_text('open("it-ran", "w")\nclass MyLock: ...\n')
    (tmp_path / "mine.toml").write_text(MINE.format(lock=lock))

    done = fencepost(tmp_path, "validate", "mine.toml")

    assert done.returncode == 0
    assert said in done.stderr
    assert ("load" in done.stderr) is bool(said)
    assert not (tmp_path / "it-ran").exists()
