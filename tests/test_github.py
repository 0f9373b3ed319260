"""What GitHub and pre-commit read is valid and pinned; the steps of a release, and what release.yml demands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import ran
from tests.support.console_blocks import follow, shell
from tests.support.repository import PROJECT, PYTHONS, ROOT

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


@pytest.mark.slow
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


MAINTAINER = {
    "GIT_AUTHOR_NAME": "maintainer",
    "GIT_AUTHOR_EMAIL": "maintainer@localhost",
    "GIT_COMMITTER_NAME": "maintainer",
    "GIT_COMMITTER_EMAIL": "maintainer@localhost",
}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which 0.2.0 was released by the steps of the page."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is nothing to clone")
    clone = tmp_path_factory.mktemp("releasing") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    with shell(clone, **MAINTAINER) as opened:
        follow(ROOT / "docs/releasing.md", opened, clone)
    return clone


def demanded_of(tag: str, clone: Path) -> int:
    """The exit code of the step of release.yml that looks at the tag."""
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["build"]["steps"]
    (script,) = [step["run"] for step in steps if "tag" in step.get("name", "")]
    bash = ["bash", "-e", "-c", script]
    environment = os.environ | {"GITHUB_REF_NAME": tag}
    return subprocess.run(bash, cwd=clone, env=environment, check=False, stdout=subprocess.DEVNULL).returncode


@pytest.mark.slow
def test_the_steps_leave_a_clean_tagged_commit(released: Path) -> None:
    seen = ran(["git", "describe", "--dirty"], cwd=released, check=True)

    assert seen.stdout == "v0.2.0\n"


def test_the_workflow_accepts_the_tag_of_the_released_version(released: Path) -> None:
    assert demanded_of("v0.2.0", released) == 0


def test_the_changelog_has_the_current_version_with_its_date() -> None:
    assert demanded_of(f"v{PROJECT['version']}", ROOT) == 0


def test_the_workflow_refuses_a_tag_of_another_version(released: Path) -> None:
    assert demanded_of("v0.1.0", released) != 0


def test_the_workflow_refuses_a_version_without_a_dated_section(released: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text((released / "pyproject.toml").read_text())
    (tmp_path / "CHANGELOG.md").write_text("## 0.2.0\n")

    assert demanded_of("v0.2.0", tmp_path) != 0
