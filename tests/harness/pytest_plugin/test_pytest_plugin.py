"""The pytest plugin, in pytest's own sessions: the fixture, target files as tests, and what a session shares."""

import re
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from harness.core.errors import EngineUnavailableError
from harness.core.events import RunJudged
from harness.engines.engine import Engine
from harness.engines.local import LocalEngine
from harness.pytest_plugin import runs
from harness.run.runner import RunOptions
from harness.spec import Target
from harness.spec.reading import of_seed
from tests.support.challenged import repeated
from tests.support.recorded_runs import Unpack
from tests.support.reported_runs import judged_as
from tests.support.repository import ROOT

pytest_plugins = ["pytester"]

TARGET = """
name = "{name}"
expect = "valid"
[lock]
kind = "redis"
ttl = "2s"
[storage]
kind = "sqlite"
fencing = "conditional-update"
[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"
"""
TEST, COMMAND = re.findall(r"```(?:python|sh)\n(.*?)```", (ROOT / "docs/pytest.md").read_text(), re.DOTALL)
"""The test and the command that the documentation shows."""


class Recorded:
    """Stands in for the runs on real servers: it gives recorded ones, and remembers what was asked for."""

    def __init__(self, unpack: Callable[[str], Path]) -> None:
        self._unpack = unpack
        self.calls: list[tuple[Target, Engine, RunOptions]] = []
        self.recording = "etcd-postgres"
        self.refusal = ""

    def __call__(self, target: Target, engine: Engine, options: RunOptions) -> RunJudged:
        self.calls.append((target, engine, options))
        if self.refusal:
            raise EngineUnavailableError(self.refusal)
        return judged_as(target, self._unpack(self.recording))


@pytest.fixture
def recorded(recorded_run: Unpack, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    made = Recorded(recorded_run)
    monkeypatch.setattr(runs, "to_verdict", made)
    return made


@pytest.fixture(autouse=True)
def _swept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    swept: list[str] = []
    monkeypatch.setattr(runs, "sweep", lambda: swept.append("swept"))
    yield swept
    assert len(swept) <= 1, "leftovers are removed once in a session"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a target and a test in their folders."""
    (pytester.path / "pytest.ini").write_text("[pytest]\n")
    (pytester.path / "targets").mkdir()
    (pytester.path / "targets/mine.toml").write_text(TARGET.format(name="mine"))
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests/test_it.py").write_text(TEST)
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest_inprocess("-p", "no:cacheprovider", "--fencepost-engine=local", *options)


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    (found,) = entry_points(group="pytest11", name="fencepost")

    assert found.value == "harness.pytest_plugin.plugin"


def test_a_valid_run_passes_with_its_options(project: pytest.Pytester, recorded: Recorded) -> None:
    run(project, "--fencepost-set=workload.clients=3").assert_outcomes(passed=1)

    ((target, engine, options),) = recorded.calls
    assert (target.name, target.workload.duration, target.workload.clients) == ("mine", 20 * 10**9, 3)
    assert isinstance(engine, LocalEngine)
    assert options.seed == 7


def test_a_seed_draws_what_the_test_does_not_set(project: pytest.Pytester, recorded: Recorded) -> None:
    vary = '[vary]\n"workload.duration" = ["30s", "40s"]\n"workload.clients" = [4, 5]\n'
    (project.path / "targets/mine.toml").write_text(TARGET.format(name="mine") + vary)

    run(project).assert_outcomes(passed=1)

    ((target, _, options),) = recorded.calls
    assert options.seed == 7
    drawn = {of_seed(target, seed).workload for seed in range(20)}
    assert {(each.duration, each.clients) for each in drawn} == {(20 * 10**9, 4), (20 * 10**9, 5)}


def test_a_violation_fails_with_its_explanation(project: pytest.Pytester, recorded: Recorded) -> None:
    recorded.recording = "etcd-postgres-unfenced"

    result = run(project)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: mine  *",
            "E*stale-write: *",
            "*Captured fencepost mine call*",
            "report *report.html",
        ]
    )


def test_runs_are_kept_below_basetemp(project: pytest.Pytester, recorded: Recorded) -> None:
    run(project, "--basetemp=kept").assert_outcomes(passed=1)

    assert recorded.calls[0][2].runs == project.path / "kept/fencepost"


def test_a_target_is_found_from_any_folder(
    project: pytest.Pytester, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path / "tests")

    run(project, "test_it.py").assert_outcomes(passed=1)

    assert recorded.calls[0][0].name == "mine"


def test_without_an_engine_a_test_skips_with_the_reason(project: pytest.Pytester, recorded: Recorded) -> None:
    recorded.refusal = "redis is not installed"

    result = run(project, "-rs", "--fencepost", "targets", "tests")

    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*mine: redis is not installed"])


def test_without_an_engine_a_test_fails_where_required(project: pytest.Pytester, recorded: Recorded) -> None:
    recorded.refusal = "redis is not installed"

    result = run(project, "--fencepost-require")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["--fencepost-require is set, and mine: redis is not installed"])
    result.stdout.no_fnmatch_line("*During handling*")


def test_a_wrong_setting_is_a_sentence_at_its_test(project: pytest.Pytester, recorded: Recorded) -> None:
    result = run(project, "--fencepost-set", "lok=1")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E  *ConfigurationError: --set lok=1: *did you mean lock?"])
    result.stdout.no_fnmatch_line("*/harness/*")
    assert recorded.calls == []


def test_target_files_are_collected_on_request_only(project: pytest.Pytester, recorded: Recorded) -> None:
    (project.path / "targets/pyproject.toml").write_text('[project]\nname = "x"\n')

    run(project, "targets").assert_outcomes()
    result = run(project, *COMMAND.split()[1:], "-v")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["targets/mine.toml::mine PASSED*"])
    assert len(recorded.calls) == 1


def test_the_copy_of_a_target_in_a_run_folder_is_not_collected(project: pytest.Pytester) -> None:
    run = project.mkdir("run")
    (run / "target.toml").write_text('name = "mine"\n[lock]\n')
    (run / "plan.json").write_text("{}")

    result = project.runpytest("--fencepost", "--collect-only", "run")

    result.stdout.no_fnmatch_line("*target*::*")


def test_a_target_file_fails_with_its_explanation_alone(project: pytest.Pytester, recorded: Recorded) -> None:
    recorded.recording = "not-exercised"

    result = run(project, "--fencepost", "targets")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["mine  Not tested: *", "*This is not a pass*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*def runtest*")


def test_a_broken_target_file_fails_with_its_errors(project: pytest.Pytester, recorded: Recorded) -> None:
    (project.path / "targets/mine.toml").write_text("name = \n")

    result = run(project, "--fencepost", "targets")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*mine.toml:1: invalid TOML*"])
    assert recorded.calls == []


def test_an_error_in_a_target_file_begins_no_line(project: pytest.Pytester) -> None:
    (project.path / "targets/mine.toml").write_text('name = "mine"\n"a\\n::error::FORGED" = 1\n[lock]\n')

    result = run(project, "--fencepost", "targets")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*mine.toml: a\\n::error::FORGED*"])
    assert not [line for line in result.outlines if line.lstrip().startswith("::")]


def test_the_name_of_a_target_file_begins_no_line(project: pytest.Pytester) -> None:
    (project.path / "targets/mine.toml").rename(project.path / "targets/n\n::error::\x1b[31m.toml")

    found = project.runpytest("--fencepost", "targets", "--collect-only", "-q")

    assert found.outlines[0] == r"targets/n\n::error::\x1b[31m.toml::n\n::error::\x1b[31m"


def test_the_marker_gives_defaults_and_selects(project: pytest.Pytester, recorded: Recorded) -> None:
    (project.path / "tests/test_it.py").write_text(
        """
import pytest

@pytest.mark.fencepost(target="targets/mine.toml", seed=5, overrides=["workload.clients=4"])
def test_marked(fencepost):
    assert fencepost.run().as_expected
    assert fencepost.run(seed=6).as_expected

def test_without_a_run():
    pass
"""
    )

    run(project, "-m", "fencepost", "--strict-markers").assert_outcomes(passed=1, deselected=1)

    assert [(target.workload.clients, options.seed) for target, _, options in recorded.calls] == [
        (4, 5),
        (4, 6),
    ]


def test_one_engine_serves_a_session(
    project: pytest.Pytester, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[str] = []

    def choose(name: str) -> Engine:
        chosen.append(name)
        return LocalEngine()

    monkeypatch.setattr(runs, "choose", choose)

    run(project, "--fencepost", "targets", "tests").assert_outcomes(passed=2)

    assert chosen == ["local"]
    assert len({id(engine) for _, engine, _ in recorded.calls}) == 1


def test_the_report_is_in_the_junit_file(project: pytest.Pytester, recorded: Recorded) -> None:
    run(project, "--junit-xml=junit.xml").assert_outcomes(passed=1)

    assert recorded.calls
    assert '<property name="fencepost_report" value="' in (project.path / "junit.xml").read_text()


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_workers_of_xdist_run_targets_on_real_servers(project: pytest.Pytester) -> None:
    for name in ("mine", "yours"):
        (project.path / f"targets/{name}.toml").write_text(TARGET.format(name=name))

    result = repeated(
        lambda: project.runpytest_subprocess(
            *("-p", "no:cacheprovider", "-n", "2", "--fencepost", "--fencepost-engine=local"),
            *("--fencepost-require", "--fencepost-set=workload.duration=8s", "--basetemp=kept", "targets"),
        ),
        lambda result: "not tested" in result.stdout.str(),
    )

    result.assert_outcomes(passed=2)
    assert {
        report.parent.parent.name for report in project.path.glob("kept/*/fencepost/*/2*/report.html")
    } == {"mine", "yours"}
