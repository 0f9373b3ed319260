"""Targets that only Docker can run, when the local engine was asked for by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import fencepost, refused


@pytest.mark.parametrize(
    ("target", "settings", "why"),
    [
        ("etcd-postgres-patroni", (), "the local engine has no Patroni, which runs postgres: use Docker"),
        ("etcd-postgres", ("storage.image=postgres:18",), "the local engine runs no images"),
        ("etcd-postgres", ("lock.version=3.6.7",), "the local engine builds no servers"),
    ],
)
def test_a_target_for_docker_alone_is_refused_before_the_run(
    tmp_path: Path, target: str, settings: tuple[str, ...], why: str
) -> None:
    options = [word for setting in settings for word in ("--set", setting)]

    done = refused(tmp_path, "run", "--engine", "local", *options, target)

    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith(f"{target}: {why}")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("zoo", "header-revision-etcd-3-4"),
        ("check-client", "--set=storage.version=3.6.7", "--storage=etcd", "--fencing=transaction", "true"),
        ("card", "--lock=hazelcast", "true"),
    ],
)
def test_every_command_refuses_it_with_the_same_exit_code(tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *words = command

    done = refused(tmp_path, name, "--engine=local", *words)

    assert done.returncode == 4, done.stdout + done.stderr
    assert "the local engine" in done.stdout + done.stderr
    assert "use Docker" in done.stdout + done.stderr


def test_a_machine_without_docker_lacks_the_engine_that_a_target_needs(tmp_path: Path) -> None:
    done = fencepost(tmp_path, "run", "etcd-postgres-patroni", DOCKER_HOST="unix:///nowhere")

    assert done.returncode == 3, done.stderr
    assert "Docker does not answer at unix:///nowhere" in done.stderr
    assert "infrastructure failure: the local engine has no Patroni" in done.stderr
