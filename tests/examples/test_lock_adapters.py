"""The adapters of `examples/locks` in Go, Java and Node follow the line protocol, on real servers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.command import fencepost
from tests.support.missing import miss
from tests.support.repository import ROOT

ADAPTERS = ROOT / "examples/locks"
JAVA = "java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp target/locks.jar:target/lib/* locks."

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # a build may download libraries first


def assert_fits(folder: Path, lock: str, command: str, engine: str = "local") -> None:
    done = fencepost(
        folder,
        "check-client",
        f"--engine={engine}",
        "--side=lock",
        f"--lock={lock}",
        "--set=lock.ttl=3s",
        command,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("everything fits\n")


def build(command: str, folder: Path) -> None:
    done = subprocess.run(
        command.split(), cwd=folder, capture_output=True, text=True, timeout=500, check=False
    )

    assert done.returncode == 0, done.stderr


def test_the_adapter_in_go_follows_the_protocol(tmp_path: Path) -> None:
    if not shutil.which("go"):
        miss("the adapter in Go needs Go")
    program = tmp_path / "etcd-mutex"
    build(f"go build -o {program} ./etcd_mutex", ADAPTERS / "go")

    assert_fits(tmp_path, "etcd", str(program))


@pytest.mark.parametrize(
    ("lock", "adapter", "engine"),
    [
        ("redis", "RedissonLock fenced", "local"),
        ("zookeeper", "CuratorMutex", "auto"),
        ("redis", "SpringRedis", "local"),
        ("postgres", "ShedLock", "local"),
        ("postgres", "SpringJdbc", "local"),
    ],
)
def test_an_adapter_in_java_follows_the_protocol(lock: str, adapter: str, engine: str) -> None:
    if not (ADAPTERS / "java/target/locks.jar").exists():
        pytest.skip("examples/locks/java is not built: run mvn package there")

    assert_fits(ADAPTERS / "java", lock, f"{JAVA}{adapter}", engine)


def test_the_adapter_in_node_follows_the_protocol(tmp_path: Path) -> None:
    if not shutil.which("npm"):
        miss("the adapter in Node needs npm")
    folder = shutil.copytree(
        ADAPTERS / "node", tmp_path / "node", ignore=shutil.ignore_patterns("node_modules")
    )
    build("npm install --no-package-lock --silent", folder)

    assert_fits(folder, "redis", "node redlock.mjs")
