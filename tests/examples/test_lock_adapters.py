"""The adapters of `examples/locks` in Go, Java and Node follow the line protocol on real servers."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.nemesis.partition import partition
from harness.run import deployment
from harness.spec import load
from tests.support.command import fencepost, ran
from tests.support.missing import miss
from tests.support.repository import ROOT

ADAPTERS = ROOT / "examples/locks"
JAVA = "java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp target/locks.jar:target/lib/* locks."
HOLD = {"resource": "r0", "owner": "0-1"}
ACQUIRE = {"op": "acquire", "wait_ms": 8000, **HOLD}
RELEASE = {"op": "release", **HOLD}

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]  # a build may download libraries first


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
    assert "ok    stop without a lock: ok\n" in done.stdout
    assert done.stdout.endswith("everything fits\n")


def build(command: str, folder: Path) -> None:
    done = ran(command.split(), cwd=folder, timeout=500)

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
        ("hazelcast", "HazelcastFencedLock", "docker"),
    ],
)
def test_an_adapter_in_java_follows_the_protocol(lock: str, adapter: str, engine: str) -> None:
    if not (ADAPTERS / "java/target/locks.jar").exists():
        pytest.skip("examples/locks/java is not built: run mvn package there")

    assert_fits(ADAPTERS / "java", lock, f"{JAVA}{adapter}", engine)


def test_all_messages_of_hazelcasts_client_pass_its_proxies(
    docker_engine: Engine, run_id: str, tmp_path: Path
) -> None:
    if not (ADAPTERS / "java/target/locks.jar").exists():
        pytest.skip("examples/locks/java is not built: run mvn package there")
    target = load("etcd-postgres", ['client={command=["app"], side="lock"}', 'lock={kind="hazelcast"}'])
    topology = replace(deployment.topology(target, ()), clients=1, partitions=True)
    members = target.lock.servers

    with docker_engine.start(topology, run_id, tmp_path, print) as cluster:
        edges = [str(cluster.edge(0, name)) for name in members]
        with subprocess.Popen(
            shlex.split(f"{JAVA}HazelcastFencedLock"),
            cwd=ADAPTERS / "java",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as program:
            lock = {"endpoints": edges, "ttl_ms": 2000, "password": ""}
            outcomes = [ask(program, op="start", timeout_ms=2000, lock=lock)]
            outcomes += [ask(program, **ACQUIRE), ask(program, **RELEASE)]
            with partition(cluster, 0, members):
                # Longer than the client needs to notice, and to connect to the members that it knows.
                outcomes += [ask(program, **{**ACQUIRE, "wait_ms": 6000}), ask(program, op="reconnect")]
            outcomes += [ask(program, **ACQUIRE)]
            program.kill()

    assert outcomes == ["ok", "ok", "ok", "unknown", "ok", "ok"]


def ask(program: subprocess.Popen[str], **request: Any) -> str:
    assert program.stdin
    assert program.stdout
    program.stdin.write(json.dumps({"id": 1, **request}) + "\n")
    program.stdin.flush()
    outcome: str = json.loads(program.stdout.readline())["outcome"]
    return outcome


@pytest.mark.parametrize("adapter", ["redlock", "redis_semaphore"])
def test_an_adapter_in_node_follows_the_protocol(tmp_path: Path, adapter: str) -> None:
    if not shutil.which("npm"):
        miss("an adapter in Node needs npm")
    folder = shutil.copytree(
        ADAPTERS / "node", tmp_path / "node", ignore=shutil.ignore_patterns("node_modules", "target")
    )
    build("npm install --no-package-lock --silent", folder)

    assert_fits(folder, "redis", f"node {adapter}.mjs")
