"""The package `fencepost`, used as docs/python.md says; its names are complete, documented and typed."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import fencepost
from fencepost import ConfigurationError, Event, FaultObserved, RunJudged, RunStarted, Validity
from tests.support.challenged import repeated, was_not_exercised
from tests.support.command import ran
from tests.support.repository import HISTORIES, ROOT

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
RUN, JUDGE, TEST = EXAMPLES


def printed(example: str) -> list[str]:
    """What the comments of an example say that it prints."""
    return re.findall(r"^ *print\(.*\)  # (\S+?):?(?: .*)?$", example, re.MULTILINE)


def called(script: Path, folder: Path) -> CompletedProcess[str]:
    return ran([sys.executable, script], cwd=folder)


def printed_by(done: CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_recorded_history_is_judged() -> None:
    history = fencepost.read(HISTORIES / "stale-write/by-the-log.jsonl")
    commits = fencepost.read_commits(HISTORIES / "stale-write/by-the-log.commits.jsonl")

    verdict = fencepost.judge(history, commits)

    assert isinstance(verdict, fencepost.Verdict)
    assert verdict.validity is Validity.INVALID
    assert verdict.anomalies["stale-write"] == 1


def test_a_path_may_be_a_text() -> None:
    history = str(HISTORIES / "stale-write/by-the-log.jsonl")
    commits = str(HISTORIES / "stale-write/by-the-log.commits.jsonl")
    foreign = str(HISTORIES / "foreign" / "register.valid.json")

    verdict = fencepost.judge(fencepost.read(history), fencepost.read_commits(commits))

    assert verdict.anomalies["stale-write"] == 1
    assert fencepost.judge_foreign(foreign, "register").verdict.validity.word == "valid"


def test_the_verdict_document_names_its_target_and_the_judged_file() -> None:
    file = HISTORIES / "stale-write/ghost.jsonl"

    verdict = fencepost.judge(fencepost.read(file))

    document = verdict.to_document(file)
    assert (document["target"], document["history"]) == ("stale-write-ghost", str(file))
    assert verdict.to_document()["history"] is None


def test_the_documented_judgement_prints_what_it_says(
    recorded_run: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = recorded_run("etcd-postgres-unfenced")
    latest = tmp_path / "runs/etcd-postgres-unfenced/latest"
    latest.parent.mkdir(parents=True, exist_ok=True)
    latest.symlink_to(folder)
    script = tmp_path / "judge.py"
    script.write_text(JUDGE)

    assert printed_by(called(script, tmp_path)) == printed(JUDGE) == ["invalid", "True"]


def test_a_target_that_is_wrong_raises_before_anything_starts() -> None:
    with pytest.raises(ConfigurationError, match=r"workload\.clients = 1"):
        fencepost.load("etcd-postgres", ["workload.clients=1"])


@pytest.mark.nightly
@pytest.mark.usefixtures("local_engine")
def test_the_documented_run_prints_what_it_says(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    judged = tmp_path / "runs/etcd-postgres-unfenced/latest/verdict.json"

    done = repeated(
        lambda: called(script, tmp_path), lambda _done: was_not_exercised(json.loads(judged.read_text()))
    )

    lines = printed_by(done)

    assert lines[:3] == printed(RUN)[:3] == ["invalid", "True", "stale-write"]
    assert lines[3:] == json.loads(judged.read_text())["findings"][0]["steps"]
    assert (tmp_path / "runs/etcd-postgres-unfenced/latest/report.html").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_a_run_notifies_of_its_events_and_returns_the_verdict_of_its_file(tmp_path: Path) -> None:
    events: list[Event] = []
    target = fencepost.load("etcd-postgres-unfenced", ["workload.duration=8s"])
    assert isinstance(target, fencepost.Target)

    def run() -> fencepost.Verdict:
        events.clear()
        return fencepost.run(target, engine="local", seed=7, runs=tmp_path / "runs", notify=events.append)

    verdict = repeated(run, lambda _verdict: not any(isinstance(event, FaultObserved) for event in events))

    (started,) = [event for event in events if isinstance(event, RunStarted)]
    (judged,) = [event for event in events if isinstance(event, RunJudged)]
    assert started.seed == 7
    assert any(isinstance(event, FaultObserved) for event in events)
    assert judged.verdict is verdict
    assert judged.document.verdict == verdict.validity.word
    assert judged.document.anomalies == dict(verdict.anomalies)
    assert judged.document.reasons == list(verdict.reasons)


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_the_documented_pytest_test_passes(tmp_path: Path) -> None:
    test = tmp_path / "test_fence.py"
    test.write_text(TEST)

    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = repeated(
        lambda: ran(words, cwd=tmp_path),
        lambda done: "not tested" in done.stdout,
    )

    assert "1 passed" in done.stdout, done.stdout


NAMES = dir(fencepost)
DOCUMENTED = re.findall(r"^\| `(\w+)[`(]", (ROOT / "docs/python.md").read_text(), re.MULTILINE)
OURS = ("checkers", "workloads", "harness", "compose")


def imported_by(statement: str) -> set[str]:
    """The modules that a statement adds to those of a bare interpreter, without the standard library's."""
    script = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = ran([sys.executable, "-c", script], check=True)
    return {name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}


def test_importing_the_package_imports_no_other() -> None:
    assert imported_by("import fencepost") == {"fencepost"}


@pytest.mark.parametrize(
    "name", ["Grant", "Stale", "Session", "Commit", "LockSettings", "FencepostError", "ConfigurationError"]
)
def test_what_a_client_needs_imports_neither_engines_nor_checkers(name: str) -> None:
    heavy = {"numpy", "pydantic", "docker", "networkx", "harness.engines", "harness.spec", "checkers.rules"}

    assert not imported_by(f"from fencepost import {name}") & heavy


def test_the_names_are_sorted_and_each_is_there() -> None:
    star: dict[str, object] = {}

    exec("from fencepost import *", star)  # noqa: S102 - the public names

    assert sorted(NAMES) == NAMES
    assert star.keys() - {"__builtins__"} == set(NAMES)
    assert all(star[name] is getattr(fencepost, name) for name in NAMES)


def test_a_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fencepost' has no attribute 'Verdikt'"):
        getattr(fencepost, "Verdikt")  # noqa: B009 - a type checker knows that there is none


def test_type_checkers_see_the_names_that_exist_at_run_time() -> None:
    stub = ast.parse((ROOT / "fencepost/__init__.pyi").read_text())
    imports = [each for each in stub.body if isinstance(each, ast.ImportFrom)]
    declared = {
        alias.asname: f"{each.module}.{alias.name}"
        for each in imports
        for alias in each.names
        if alias.asname
    }

    assert declared == {name: f"{module}.{name}" for name, module in fencepost.__dict__["_HOMES"].items()}


def test_the_documentation_lists_every_name_once() -> None:
    assert sorted(DOCUMENTED) == NAMES


def test_every_class_and_function_has_a_docstring() -> None:
    described = [name for name in NAMES if callable(getattr(fencepost, name))]

    assert [name for name in described if not inspect.getdoc(getattr(fencepost, name))] == []


def own_types(annotation: object) -> Iterator[type]:
    """The classes of ours in an annotation, also in those of a callable."""
    if isinstance(annotation, list | tuple):
        for each in annotation:
            yield from own_types(each)
    elif arguments := typing.get_args(annotation):
        yield from own_types(arguments)
    elif isinstance(annotation, type) and annotation.__module__.partition(".")[0] in OURS:
        yield annotation


def signatures() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every public function, and the methods of the protocols that users implement or call."""
    for name in NAMES:
        found = getattr(fencepost, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found) and getattr(found, "_is_protocol", False):
            yield from (
                (f"{name}.{method}", each) for method, each in vars(found).items() if inspect.isfunction(each)
            )


SIGNATURES = dict(signatures())


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_type_in_a_public_signature_is_public(name: str) -> None:
    public = {getattr(fencepost, each) for each in NAMES if inspect.isclass(getattr(fencepost, each))}

    used = {each for hint in typing.get_type_hints(SIGNATURES[name]).values() for each in own_types(hint)}

    assert {each.__name__ for each in used - public} == set()
