"""The shell steps of the files that CI servers read."""

from __future__ import annotations

import re

import yaml

from tests.support.repository import ROOT

CI = ROOT / "examples/ci"
ACTION = ROOT / "action.yml"


def steps_of_the_action() -> list[str]:
    """Those of GitHub's action."""
    return [step["run"] for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "run" in step]


def steps_in_the_image_on_github() -> list[str]:
    """Those of GitHub's job in Fencepost's image."""
    job = yaml.safe_load((CI / "github-image.yml").read_text())["jobs"]["nightly"]
    return [step["run"] for step in job["steps"] if "run" in step]


def steps_in_the_image_on_gitlab() -> list[str]:
    """Those of GitLab's job in Fencepost's image."""
    job = yaml.safe_load((CI / "gitlab-image.yml").read_text())["nightly"]
    return [*job["script"], *job["after_script"]]


def steps_of_gitlab() -> list[str]:
    """Those of GitLab's job."""
    job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["nightly"]
    return [*job["before_script"], *job["script"], *job["after_script"]]


def steps_of_jenkins() -> list[str]:
    """Those of Jenkins' pipeline."""
    return re.findall(r"sh '''(.*?)'''", (CI / "Jenkinsfile").read_text(), re.DOTALL)
