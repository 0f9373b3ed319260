"""The CI files that promise to need Python and git alone, on a machine that has nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from harness.core.exit_codes import ExitCode
from harness.engines.docker_api import connect
from harness.engines.docker_images import base_image
from tests.support.challenged import repeated
from tests.support.ci_steps import steps_of_gitlab, steps_of_jenkins
from tests.support.repository import ROOT

pytestmark = [
    pytest.mark.engine,
    pytest.mark.nightly,
    pytest.mark.timeout(3600),
    pytest.mark.usefixtures("docker_engine"),
]
DEADLINE = 1500  # s; installing takes one or two minutes, the campaign about four
IMAGE = "bare-machine-of-the-tests"
DOCKERFILE = """
ARG BASE
FROM $BASE
RUN apt-get update -qq \\
    && apt-get install -qq --no-install-recommends python3 python3-venv git ca-certificates \\
    && rm -rf /var/lib/apt/lists/* \\
    && git config --system safe.directory "*"
WORKDIR /builds
"""
REACHING_PIP = re.compile(r"(PIP_(?!CACHE_DIR|FIND_LINKS|CERT)\w+|https?_proxy|no_proxy)", re.IGNORECASE)
DRY = ".fencepost/venv/bin/fencepost campaign run --engine local --dry-run /source/campaigns/{}.toml"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout at HEAD, with the branch that the CI files install."""
    clone = tmp_path_factory.mktemp("source") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run(["git", "-C", clone, "branch", "tested"], check=True)
    return clone


@pytest.fixture(scope="module")
def image() -> str:
    """Debian with Python and git alone."""
    with closing(connect()) as client:
        base = base_image(client)
    build = ["docker", "build", "--quiet", "--tag", IMAGE, "--build-arg", f"BASE={base}", "-"]
    subprocess.run(build, input=DOCKERFILE, text=True, check=True, stdout=subprocess.DEVNULL)
    return IMAGE


def on_the_bare_machine(image: str, source: Path, *steps: str) -> subprocess.CompletedProcess[str]:
    """Run the steps, one after another, until one fails."""
    settings = {name: value for name, value in os.environ.items() if REACHING_PIP.fullmatch(name)}
    settings |= {
        "CAMPAIGN": "/source/campaigns/local.toml",
        "ENGINE": "auto",
        "FENCEPOST_REPOSITORY": "file:///source",
        "FENCEPOST_VERSION": "tested",
    }
    command = ["docker", "run", "--rm", "--init", "--volume", f"{source}:/source:ro"]
    command += [f"--env={name}={value}" for name, value in settings.items()]
    command += [image, "timeout", str(DEADLINE), "bash", "-euo", "pipefail", "-c", "\n".join(steps)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("steps", [steps_of_gitlab, steps_of_jenkins])
def test_the_steps_run_with_python_and_git_alone(
    image: str, source: Path, steps: Callable[[], list[str]]
) -> None:
    short = "sed 's/^repeat = 3/repeat = 1/' /source/campaigns/local.toml > short.toml; CAMPAIGN=short.toml"

    done = repeated(
        partial(on_the_bare_machine, image, source, short, *steps(), "cat nights/local/latest/junit.xml"),
        lambda done: done.returncode == ExitCode.UNKNOWN,
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout[-3000:] + done.stderr[-3000:]
    suites = ET.fromstring(done.stdout[done.stdout.index("<testsuites>") :])  # noqa: S314 (our own)
    assert {suite.get("failures") for suite in suites} == {"0"}
    assert len(suites) == 8


def test_a_dry_run_names_what_such_a_machine_cannot_run(image: str, source: Path) -> None:
    *install, _, _ = steps_of_gitlab()

    done = on_the_bare_machine(
        image, source, *install, DRY.format("local"), "echo ----", DRY.format("nightly")
    )

    local, _, nightly = done.stdout.partition("----")
    assert done.returncode == ExitCode.INFRASTRUCTURE, done.stderr
    assert "20 runs, " in local
    assert "cannot run here" not in local
    unable = set(nightly.partition("cannot run here")[2].split())
    assert "etcd-postgres-none-pause" not in unable
    assert unable >= {
        "zookeeper-postgres-none-pause",
        "etcd-postgres-conditional-update-kill-lock",
        "etcd-postgres-conditional-update-partition-lock",
    }
