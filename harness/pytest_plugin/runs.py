"""Runs of targets within a pytest session: one engine and one folder for all of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pytest

from checkers.text.printable import message
from checkers.vocabulary.verdict import Verdict
from harness.core.errors import ConfigurationError, EngineUnavailableError, FencepostError
from harness.core.events import RunJudged
from harness.core.invocation import NO_FAULTS
from harness.engines.choice import EngineName, choose
from harness.engines.cleanup import sweep
from harness.engines.engine import Engine
from harness.report.verdict_text import JudgedRun, explanation
from harness.run.run_to_verdict import to_verdict
from harness.run.runner import RunOptions
from harness.spec import load

RUNS = "fencepost"  # the folder within --basetemp


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run, judged."""

    verdict: str
    """"valid", "unknown" or "invalid"."""
    as_expected: bool
    """Did the run end as its target expects? A target may expect an anomaly."""
    explanation: str
    """What happened, the steps that prove it, and the commands to repeat it: what `fencepost run` prints."""
    seed: int | None
    folder: Path
    report: Path
    details: Verdict
    """The whole verdict, with its findings."""


class Options(TypedDict, total=False):
    """How a target is run; each may also be an argument of the marker."""

    duration: str  # of the workload, such as "20s"
    seed: int | None
    overrides: Sequence[str]  # such as "workload.clients=3"
    faults: bool
    engine: EngineName


class Fencepost:
    """The fixture: runs targets for one test."""

    def __init__(self, item: pytest.Item, defaults: Mapping[str, Any]) -> None:
        self._item = item
        self._defaults = dict(defaults)

    def run(self, target: str | os.PathLike[str] | None = None, **options: Unpack[Options]) -> Run:
        """Run a target once, and return how it was judged.

        If no engine can run the target, the test is skipped with the reason; with
        `--fencepost-require` it fails.

        Args:
            target: A file, relative to the folder of the test or to pytest's root, or the name of a
                shipped target. None: the one that the marker names.
            **options: `duration` of the workload such as "20s", `seed`, `overrides` such as
                ["workload.clients=3"], `faults=False`, and `engine`.

        Raises:
            ConfigurationError: The target cannot be run; nothing was started.
            InfrastructureError: A server or a fault failed: there is no verdict.
        """
        __tracebackhide__ = True
        chosen: dict[str, Any] = {**self._defaults, **options}
        named = target or chosen.get("target")
        chosen.pop("target", None)
        if not named:
            raise ConfigurationError("name a target: fencepost.run(target), or the marker's target=")
        try:
            return run(self._item, Path(named), **chosen)
        except FencepostError as error:
            raise error.with_traceback(None) from None  # the message says it all


def run(item: pytest.Item, named: Path, **options: Unpack[Options]) -> Run:
    """Run a target for a test, and add the path of its report to the report of the test."""
    config = item.config
    overrides = [*config.getoption("--fencepost-set"), *options.get("overrides", ())]
    if duration := options.get("duration"):
        overrides.append(f"workload.duration={duration}")
    seed = options.get("seed")
    faults = options.get("faults", True)
    with contextlib.chdir(config.rootpath):  # where relative commands of a target begin
        target = load(_file(item, named), overrides, faults=faults)
        try:
            engine = _engine(config, options.get("engine", config.getoption("--fencepost-engine")))
            settings = RunOptions(
                seed=config.getoption("--fencepost-seed") if seed is None else seed,
                faults=faults,
                runs=_basetemp(config) / RUNS,
                again=("--engine", engine.name, *[NO_FAULTS] * (not faults)),
            )
            with _turn(config):
                judged = to_verdict(target, engine, settings)
        except EngineUnavailableError as error:
            raise _missed(config, f"{target.name}: {error}") from None
    made = _run(judged)
    lines = message(f"seed    {made.seed}", f"report  {made.report}", f"folder  {made.folder}")
    item.add_report_section("call", f"fencepost {target.name}", lines)
    item.user_properties.append(("fencepost_report", str(made.report)))
    return made


def _file(item: pytest.Item, named: Path) -> str | Path:
    """Find a target file from the test's folder or from pytest's root; else it is a shipped target's name."""
    found = (folder / named for folder in (item.path.parent, item.config.rootpath))
    return next((file for file in found if file.is_file()), str(named))


def _run(judged: RunJudged) -> Run:
    shown = JudgedRun.of(judged.folder, judged.document, judged.history)
    return Run(
        verdict=judged.verdict.validity.word,
        as_expected=judged.document.as_expected,
        explanation=message(*explanation(shown)),
        seed=shown.seed,
        folder=judged.folder,
        report=judged.report,
        details=judged.verdict,
    )


_ENGINES = pytest.StashKey[dict[str, Engine]]()


def _engine(config: pytest.Config, name: EngineName) -> Engine:
    """Choose an engine once in a session; what earlier runs left behind is removed before its first run."""
    chosen = config.stash.setdefault(_ENGINES, {})
    if name not in chosen:
        if not chosen:
            sweep()
        chosen[name] = choose(name)
    return chosen[name]


def _missed(config: pytest.Config, why: str) -> BaseException:
    if config.getoption("--fencepost-require"):
        return pytest.fail.Exception(f"--fencepost-require is set, and {why}", pytrace=False)
    return pytest.skip.Exception(why)


def _basetemp(config: pytest.Config) -> Path:
    temporary: pytest.TempPathFactory = getattr(config, "_tmp_path_factory")  # noqa: B009 (not public)
    return temporary.getbasetemp()


@contextlib.contextmanager
def _turn(config: pytest.Config) -> Iterator[None]:
    """Keep the workers of pytest-xdist from disturbing the timing of one another's runs.

    As many run at once as a campaign would run on this machine; the others wait.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker:
        yield
        return
    from harness.campaign.campaign import workers_here

    place = int(worker.removeprefix("gw")) % workers_here()
    with (_basetemp(config).parent / f"fencepost-{place}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
