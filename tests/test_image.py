"""Fencepost's image, built from this checkout and used from a folder that has nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.core.exit_codes import ExitCode
from harness.engines.docker_api import connect
from harness.engines.docker_images import base_image
from tests.support.challenged import counted, repeated, run_until_challenged
from tests.support.ci_steps import steps_in_the_image_on_github, steps_in_the_image_on_gitlab
from tests.support.repository import ROOT

pytestmark = [
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.timeout(3600),
    pytest.mark.usefixtures("docker_engine"),
]
IMAGE = "fencepost-of-the-tests"
DEADLINE = 600  # s; of one container
OWNER = 4711  # no user of the image has this number
KILLED_ZOOKEEPER = """
name = "zookeeper-kill"
expect = "valid"

[lock]
kind = "zookeeper"
nodes = 3

[storage]
kind = "redis"
fencing = "script"

[[faults]]
kind = "kill"
target = "lock"
every = "6s"
lasts = "1s"

[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"
"""
CAMPAIGN = """
name = "nightly"
canary = false
set = ["workload.duration=6s"]

[[matrix]]
lock = ["etcd"]
storage = ["postgres:conditional-update"]
"""
KILLED_HARNESS = """
fencepost run --set workload.duration=60s etcd-postgres > out 2>&1 &
until grep -q running: out; do sleep 0.1; done
kill -KILL $!
until [ "$(cat /proc/[0-9]*/comm | sort | tr '\\n' ' ')" = "cat sh sh sort timeout tini tr " ]; do sleep 0.1; done
"""


@pytest.fixture(scope="module", autouse=True)
def image() -> None:
    """Build it, on the base image that this machine has."""
    with closing(connect()) as client:
        base = base_image(client)
    build = ["docker", "build", "--quiet", "--tag", IMAGE, "--build-arg", f"BASE={base}", ROOT]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty folder of root's."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def in_container(work: Path, *words: str | Path, options: tuple[str, ...] = ()) -> CompletedProcess[str]:
    """Run the image as its page says."""
    command = ["docker", "run", "--rm", "--volume", f"{work}:/work", *options, IMAGE, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)


def verdict_of(
    work: Path, target: str, *counts: str, options: tuple[str, ...] = (), seconds: int = 8
) -> CompletedProcess[str]:
    """Run a target there until it was challenged."""
    run = ["run", "--format", "json", target, "--set"]
    return run_until_challenged(
        lambda duration: in_container(work, *run, duration, options=options),
        seconds,
        counted("stale_writes_attempted", *counts),
    )


def owners(work: Path) -> set[tuple[int, int]]:
    """The user and group of each file there."""
    found = [path.lstat() for path in work.rglob("*")]
    return {(each.st_uid, each.st_gid) for each in found}


@pytest.mark.parametrize(
    ("owner", "options"),
    [(0, ()), (OWNER, ()), (OWNER, (f"--user={OWNER}:{OWNER}",)), (33, ())],
    ids=["root", "another", "--user", "a user of the image"],
)
def test_reports_belong_to_the_owner_of_the_folder(work: Path, owner: int, options: tuple[str, ...]) -> None:
    os.chown(work, owner, owner)

    done = verdict_of(work, "etcd-postgres-unfenced", options=options)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr[-3000:]
    assert list(work.glob("runs/etcd-postgres-unfenced/latest/report.html"))
    assert owners(work) == {(owner, owner)}


def test_without_a_folder_it_runs_as_an_unprivileged_user() -> None:
    command = ["docker", "run", "--rm", "--entrypoint=as-owner-of-work", IMAGE, "id", "-un"]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout == "fencepost\n"


@pytest.mark.parametrize(
    ("example", "target"), [("own-class", "files.toml"), ("python-client", "fenced.toml")]
)
def test_the_users_own_classes_and_programs_run(work: Path, example: str, target: str) -> None:
    shutil.copytree(ROOT / "examples" / example, work, dirs_exist_ok=True)

    done = verdict_of(work, target)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout[-2000:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    ("target", "counts"),
    [
        ("etcd-postgres-kill", ("kills",)),
        ("etcd-postgres-partition", ("partitions",)),
        ("etcd-postgres-delayed-write", ("delays",)),
        ("redis-postgres-failover", ("failovers",)),
    ],
)
def test_faults_of_servers_and_of_the_network_work(work: Path, target: str, counts: tuple[str, ...]) -> None:
    done = verdict_of(work, target, *counts, seconds=20)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout[-2000:] + done.stderr[-3000:]


def test_zookeeper_is_killed_and_keeps_its_data(work: Path) -> None:
    (work / "target.toml").write_text(KILLED_ZOOKEEPER)

    done = verdict_of(work, "target.toml", "kills", seconds=20)

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout[-2000:] + done.stderr[-3000:]


@pytest.mark.parametrize("owner", [0, OWNER])
def test_a_killed_harness_leaves_no_process_and_no_zombie(work: Path, owner: int) -> None:
    options = ("--entrypoint=tini",)
    command = ("--", "as-owner-of-work", "timeout", "120", "sh", "-c", KILLED_HARNESS)
    os.chown(work, owner, owner)

    done = in_container(work, *command, options=options)

    assert done.returncode == 0, (work / "out").read_text()


@pytest.mark.parametrize("steps", [steps_in_the_image_on_github, steps_in_the_image_on_gitlab])
def test_a_job_runs_in_the_image(work: Path, steps: Callable[[], list[str]]) -> None:
    """A CI server starts a shell of root in a folder of its runner's user."""
    (work / "campaign.toml").write_text(CAMPAIGN)
    os.chown(work, OWNER, OWNER)
    job = (
        "--entrypoint=",
        "--volume",
        f"{work}:/builds",
        "--workdir=/builds",
        "--env=CAMPAIGN=campaign.toml",
    )

    done = repeated(
        lambda: in_container(work, "sh", "-ec", "\n".join(steps()), options=job),
        lambda done: done.returncode == ExitCode.UNKNOWN,
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout[-3000:] + done.stderr[-3000:]
    assert (work / "nights/nightly/latest/junit.xml").read_text().count("<testcase") == 1


def test_a_job_of_another_user_gets_a_name_and_a_home(work: Path) -> None:
    os.chown(work, OWNER, OWNER)
    job = ("--entrypoint=", f"--user={OWNER}:{OWNER}", "--volume", f"{work}:/builds", "--workdir=/builds")
    run = "as-owner-of-work fencepost run --no-faults --set workload.duration=1s etcd-postgres"

    done = in_container(work, "sh", "-c", run, options=job)

    assert done.returncode in {ExitCode.AS_EXPECTED, ExitCode.UNKNOWN}, done.stderr
    assert owners(work) == {(OWNER, OWNER)}


def test_the_servers_of_the_image_are_recorded(work: Path) -> None:
    done = in_container(work, "run", "--set", "workload.duration=1s", "--no-faults", "etcd-redis")
    assert done.returncode in {ExitCode.AS_EXPECTED, ExitCode.UNKNOWN}, done.stderr

    environment = json.loads((work / "runs/etcd-redis/latest/environment.json").read_text())

    assert environment["programs"] == {"etcd": "/usr/bin/etcd", "redis": "/usr/bin/redis-server"}
    assert environment["wheels"] == {}


def test_doctor_finds_its_servers_and_no_docker(work: Path) -> None:
    done = in_container(work, "doctor")

    assert done.returncode == 0, done.stdout
    lines = {line[4:].split("  ")[0]: line for line in done.stdout.splitlines()}
    assert lines["docker engine"].startswith("NO")
    for server in (
        "/usr/bin/etcd",
        "/usr/lib/postgresql/17/bin/postgres",
        "/usr/bin/redis-server",
        "zookeeper",
    ):
        assert server in lines["local engine"]
    assert "may lose data" not in lines["local engine"]
    assert all(line.startswith("ok") for name, line in lines.items() if name and name != "docker engine")


@pytest.mark.parametrize(
    "target", ["etcd-dynamodb", "etcd-dynamodb-clock", "etcd-postgres-member-partitions"]
)
def test_a_target_that_needs_docker_is_refused_with_the_remedy(work: Path, target: str) -> None:
    done = in_container(work, "run", target)

    assert done.returncode == ExitCode.INFRASTRUCTURE
    assert "use Docker (run with --engine docker where a Docker engine answers" in done.stderr
    assert not (work / "runs").exists()
