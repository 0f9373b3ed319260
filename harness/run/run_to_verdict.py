"""Run a target from Python, and return its verdict."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from checkers.vocabulary.verdict import Verdict
from harness.core.errors import InfrastructureError
from harness.core.events import Event, Notice, RunJudged
from harness.engines.choice import EngineName, choose
from harness.engines.cleanup import sweep
from harness.engines.engine import Engine
from harness.run import runner as running
from harness.spec import Target


def run(
    target: Target,
    *,
    engine: EngineName = "auto",
    seed: int | None = None,
    faults: bool = True,
    runs: str | os.PathLike[str] = "runs",
    notify: Callable[[Event], None] = lambda _event: None,
) -> Verdict:
    """Run a target once on real servers, judge the recording, and return the verdict.

    A violation is a verdict, not an exception. The history, the report and everything else
    about the run are in its folder, `runs/<target>/latest`.

    Call it from the main thread. In a script, call it below `if __name__ == "__main__":`,
    because each client is a separate process that imports the script.

    Args:
        target: What `load` returned.
        engine: "docker", "local", or "auto": Docker if it answers, otherwise local.
        seed: Determines the schedule of faults: the same seed gives the same schedule. None: a new seed.
        faults: False leaves out the faults; a target that requires stale writes is then unknown.
        runs: The folder for the run's folder.
        notify: Gets each event of the run as it happens, one of the classes of `Event`.

    Raises:
        ConfigurationError: The target cannot be run; nothing was started.
        InfrastructureError: The engine, a server or a fault failed: there is no verdict.
        KeyboardInterrupt: Ctrl-C. The recording so far was judged, in the run's folder.
    """
    chosen = choose(engine, lambda sentence: notify(Notice(text=sentence)))
    for sentence in sweep().notices:
        notify(Notice(text=sentence))
    options = running.RunOptions(seed=seed, faults=faults, runs=Path(runs), notify=notify)
    return to_verdict(target, chosen, options).verdict


def to_verdict(target: Target, engine: Engine, options: running.RunOptions) -> RunJudged:
    """Run a target on an engine until its servers have stopped, and return how it was judged.

    `options.notify` gets every event. Raises as `run` does, and EngineUnavailableError before
    anything starts if the engine cannot run the target.
    """
    judged: RunJudged | None = None
    with closing(running.run(target, engine, options)) as events:
        for event in events:
            options.notify(event)
            judged = event if isinstance(event, RunJudged) else judged
    if judged is None:
        raise InfrastructureError(f"{target.name}: the run ended without a verdict")
    if judged.interrupted:
        raise KeyboardInterrupt(f"interrupted; the verdict on the recording is in {judged.folder}")
    return judged
