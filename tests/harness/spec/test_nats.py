"""Targets whose lock is in NATS."""

from __future__ import annotations

import pytest

from harness.engines import local_systems
from harness.run import deployment
from harness.spec import load
from tests.support.target_files import SMALL, errors_in, read

NATS = SMALL.replace('kind = "etcd"', 'kind = "nats"')
RUNNING = 'kind = "nats"\nservers = ["n1:4222", "n2:4222", "n3:4222"]'


@pytest.mark.parametrize(("line", "release"), [("", "2.15.2"), ('\nversion = "2.10.22"', "2.10.22")])
def test_three_servers_of_one_release_are_started(line: str, release: str) -> None:
    target = read(NATS.replace('kind = "nats"', f'kind = "nats"{line}'))

    servers = [server for server in deployment.topology(target, ()).servers if server.cluster == "lock"]

    assert [server.name for server in servers] == ["nats-1", "nats-2", "nats-3"]
    assert {server.release for server in servers} == {release}


@pytest.mark.parametrize(
    ("lock", "problem"),
    [
        ('kind = "nats"\nversion = "2.9.25"', 'must be a release of NATS from 2.10.0, such as "2.12.1"'),
        ('kind = "nats"\nimage = "nats:2.12"', "image"),
        (f'{RUNNING}\nversion = "2.12.1"', "is for servers that Fencepost starts"),
        (f'{RUNNING}\nca_file = "ca.pem"', "Fencepost speaks no TLS to servers of kind"),
        (f'{RUNNING}\nuser = "tester"', "needs its password: give password_env, or password_file"),
        ('kind = "nats"\nservers = ["n1"]', 'such as "127.0.0.1:4222"'),
    ],
)
def test_settings_that_do_not_fit_nats_are_refused(lock: str, problem: str) -> None:
    assert any(problem in error for error in errors_in(NATS.replace('kind = "nats"', lock)))


def test_nats_needs_docker() -> None:
    target = load("nats-postgres")

    assert "has no nats" in str(local_systems.never(deployment.topology(target, target.faults)))


def test_the_name_of_a_running_server_is_that_of_a_started_one() -> None:
    target = read(NATS.replace('kind = "nats"', RUNNING))

    assert target.lock.servers == ("nats-1", "nats-2", "nats-3")
