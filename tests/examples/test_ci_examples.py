"""What CI servers read: valid by their schemas, pinned, and each shell step runs in a clean clone."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from sysconfig import get_path
from typing import Any

import pytest
import yaml

from harness.core.exit_codes import ExitCode
from tests.support.challenged import repeated
from tests.support.ci_steps import ACTION, CI, steps_of_gitlab, steps_of_jenkins, steps_of_the_action
from tests.support.command import ran
from tests.support.repository import ROOT

WORKFLOWS = (CI / "github-nightly.yml", CI / "github-image.yml")
SCHEMAS = [
    ("vendor.github-actions", ACTION),
    *(("vendor.github-workflows", workflow) for workflow in WORKFLOWS),
    *(("custom.github-workflows-require-timeout", workflow) for workflow in WORKFLOWS),
    *(("vendor.gitlab-ci", CI / name) for name in ("gitlab-ci.yml", "gitlab-image.yml")),
]
CLEAN = f"""#!/bin/sh
exec {shlex.quote(sys.executable)} "$@"
"""
SHARING = f"""{CLEAN.replace("exec ", "")}status=$?
case "$*" in
*venv*) echo {shlex.quote(get_path("purelib"))} >"$(echo "$3"/lib/python3*/site-packages)/shared.pth" ;;
esac
exit $status
"""
"""A Python whose virtual environments have what this one has: pip then unpacks nothing but Fencepost."""
CAMPAIGN = """
name = "nightly"
canary = false
set = ["workload.duration=6s"]

[[matrix]]
lock = ["redis"]
storage = ["sqlite:conditional-update"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "file"), SCHEMAS)
def test_each_file_is_valid_by_its_schema(schema: str, file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    command += ["--data-transform", "gitlab-ci"] if schema == "vendor.gitlab-ci" else []
    checked = ran([*command, file])

    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("file", [ACTION, *WORKFLOWS], ids=lambda path: path.name)
def test_actions_of_others_are_pinned_by_their_commit(file: Path) -> None:
    used = re.findall(r"uses: (?!fencepost/)(\S+)(.*)", file.read_text())

    assert used
    for action, rest in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), f"{action}{rest}"


def test_the_example_gives_only_inputs_that_the_action_has() -> None:
    steps = yaml.safe_load((CI / "github-nightly.yml").read_text())["jobs"]["nightly"]["steps"]
    given = [step["with"] for step in steps if step["uses"].startswith("fencepost/")]

    assert set().union(*given) <= set(yaml.safe_load(ACTION.read_text())["inputs"])


def test_no_input_is_pasted_into_a_shell_step() -> None:
    scripts = [step.get("run", "") for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]]

    assert [script for script in scripts if "${{" in script] == []


def test_the_campaigns_that_the_examples_name_are_shipped() -> None:
    for file in CI.iterdir():
        named = re.findall(r"campaigns/[a-z]+\.toml", file.read_text())

        assert named
        assert all((ROOT / name).is_file() for name in named)


def variables(clone: Path) -> Mapping[str, str]:
    """What the three servers set, and what their users do. No Docker answers, and pip compiles nothing."""
    return {
        "CAMPAIGN": "campaign.toml",
        "ENGINE": "local",
        "FENCEPOST_REPOSITORY": f"file://{clone}",
        "FENCEPOST_VERSION": "tested",
        "GITHUB_ACTION_PATH": str(clone),
        "RUNNER_OS": "Linux",
        "RUNNER_ARCH": "X64",
        "FILE": "campaign.toml",
        "NIGHTS": "nights",
        "HISTORY": "nights.db",
        "ARGUMENTS": "--workers 1",
        "DOCKER_HOST": "tcp://127.0.0.1:1",
        "PIP_NO_COMPILE": "0",  # pip's way to say so: of thousands of modules, Python compiles those in use
    }


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("local_engine")
@pytest.mark.parametrize(
    ("steps", "python"),
    [(steps_of_the_action, CLEAN), (steps_of_gitlab, SHARING), (steps_of_jenkins, SHARING)],
)
def test_the_shell_steps_run_in_a_clean_clone(
    tmp_path: Path, steps: Callable[[], list[str]], python: str
) -> None:
    clone, work = tmp_path / "clone", tmp_path / "work"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    subprocess.run(["git", "-C", clone, "branch", "tested"], check=True)
    work.mkdir()
    (work / "campaign.toml").write_text(CAMPAIGN)
    programs = tmp_path / "python"
    programs.mkdir()
    for name in ("python", "python3"):
        (programs / name).write_text(python)
        (programs / name).chmod(0o755)
    files = {name: tmp_path / name for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    environment = os.environ | variables(clone) | {name: str(file) for name, file in files.items()}
    environment |= {"RUNNER_TEMP": str(tmp_path), "GITHUB_WORKSPACE": str(work)}

    for script in steps():
        added = files["GITHUB_PATH"].read_text().split() if files["GITHUB_PATH"].exists() else []
        path = ":".join([*added, str(programs), os.environ["PATH"]])
        done = repeated(
            partial(run, script, work, environment | {"PATH": path}),
            lambda done: done.returncode == ExitCode.UNKNOWN,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"

    latest = work / "nights/nightly/latest"
    assert (latest / "junit.xml").read_text().count("<testcase") == 1
    assert "1 passing" in files["GITHUB_STEP_SUMMARY"].read_text()
    assert (work / "nights.db").is_file()


def run(script: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[Any]:
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return ran(command, cwd=folder, env=environment, timeout=900)
