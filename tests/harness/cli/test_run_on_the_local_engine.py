"""Targets that only Docker can run, when the local engine was asked for by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import refused


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
