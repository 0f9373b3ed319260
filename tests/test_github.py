"""What GitHub and pre-commit read: valid by their schemas, and pinned."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import ran
from tests.support.repository import PYTHONS, ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"})
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE/config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
}


def module(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", name, *arguments]
    return ran(command)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_file_is_valid_by_its_schema(schema: str) -> None:
    checked = module("check_jsonschema", "--builtin-schema", schema, *SCHEMAS[schema])

    assert SCHEMAS[schema]
    assert checked.returncode == 0, checked.stdout


def test_the_schemas_refuse_what_is_wrong(tmp_path: Path) -> None:
    form = tmp_path / "form.yml"
    form.write_text("name: A form without a body\ndescription: refused\n")

    checked = module("check_jsonschema", "--builtin-schema", "vendor.github-issue-forms", form)

    assert "'body' is a required property" in checked.stdout


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_the_fields_of_a_form_have_names_of_their_own(form: Path) -> None:
    fields = [field["id"] for field in yaml.safe_load(form.read_text())["body"] if "id" in field]

    assert len(fields) == len(set(fields)) > 1


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit_and_says_its_version(workflow: Path) -> None:
    used = re.findall(r"uses:\s*(\S+)(.*)", workflow.read_text(encoding="utf-8"))

    assert used
    for action, rest in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), f"{action}{rest}"


def jobs(workflow: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((GITHUB / "workflows" / workflow).read_text())["jobs"]
    return found


def test_the_tests_run_on_every_python_with_and_without_docker() -> None:
    assert jobs("ci.yml")["test"]["strategy"]["matrix"] == {"python": PYTHONS, "docker": [True, False]}


def test_a_release_is_tested_on_every_python_before_it_is_published() -> None:
    release = jobs("release.yml")

    assert release["test"]["strategy"]["matrix"] == {"python": PYTHONS}
    assert release["publish"]["needs"] == release["image"]["needs"] == "test"


def test_only_what_publishes_a_release_may_write_or_sign() -> None:
    granted = {
        name: {scope for scope, access in job["permissions"].items() if access == "write"}
        for name, job in jobs("release.yml").items()
    }

    assert granted == {
        "build": set(),
        "test": set(),
        "publish": {"id-token", "attestations"},
        "image": {"id-token", "attestations", "packages"},
    }


def targets_of_make(text: str) -> set[str]:
    """The targets that a text calls, as in `make docs` and `make PYTHON=python test`."""
    calls = re.findall(r"\bmake((?: [A-Z_]+=\S+)* [a-z][a-z-]*)", text)
    return {call.split()[-1] for call in calls}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_every_make_target_that_a_workflow_runs_exists(workflow: Path) -> None:
    steps = [
        step.get("run", "")
        for job in yaml.safe_load(workflow.read_text())["jobs"].values()
        for step in job["steps"]
    ]

    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets_of_make("\n".join(steps)) <= known


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_every_test_file_that_a_workflow_runs_exists(workflow: Path) -> None:
    named = re.findall(r"\btests/[\w./-]+", workflow.read_text(encoding="utf-8"))

    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_pre_commit_hooks_are_those_of_make_check() -> None:
    valid = module("pre_commit", "validate-config", ROOT / ".pre-commit-config.yaml")
    assert valid.returncode == 0, valid.stdout

    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = [hook["entry"].replace(" --force-exclude", "") for hook in local["hooks"]]
    steps = ran(
        ["make", "--dry-run", "--no-print-directory", "--old-file=.venv/installed", "check"], check=True
    )
    assert hooks == steps.stdout.splitlines()
