"""Make a card: run the series, and see what each run shows."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from harness.card.answers import is_answered
from harness.card.plays import PLAYS
from harness.card.seen import Seen, seen_in
from harness.card.series import OF_LOCK_SERVERS, Experiment, Subject, series, target_of
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.core.suggestions import did_you_mean
from harness.engines.engine import Engine
from harness.run import deployment
from harness.run.run_to_verdict import to_verdict
from harness.run.runner import RunOptions
from harness.spec.attached import running_at
from workloads.client import GIVES_NONE
from workloads.line_protocol.program_client import ProgramError

MOST_TRIES = 3
NEEDS_TOKENS = "this lock gives no fencing token, which the fenced runs of the series need: add --no-token"


def planned(subject: Subject, engine: Engine, only: Sequence[str] = ()) -> list[Experiment]:
    """The runs of the series, or some; ConfigurationError or EngineUnavailableError if one cannot be made.

    `only` may also name plays.
    """
    every = {each.name: each for each in series(subject.lock, gives_token=subject.gives_token)}
    for name in only:
        if name not in every and name not in PLAYS:
            if name in {each.name for each in series(subject.lock)}:
                raise ConfigurationError(f"--only {name}: it needs a token, and --no-token leaves it out")
            raise ConfigurationError(
                f"--only {name}: no run of the series{did_you_mean(name, [*every, *PLAYS])}"
            )
    experiments = [each for name, each in every.items() if name in only or not only]
    if any(each.kind in OF_LOCK_SERVERS for each in experiments):
        _check_lock_servers(subject, every["calm"])
    for experiment in experiments:
        target = target_of(subject, experiment)
        if experiment.fenced and not target.fenced:
            raise ConfigurationError(
                f"--fencing {subject.fencing}: the fenced runs need a storage that compares tokens: "
                "use another, such as conditional-update"
            )
        deployment.check(target)
        if refusal := engine.refusal(deployment.topology(target, target.faults)):
            raise refusal
    return experiments


def _check_lock_servers(subject: Subject, calm: Experiment) -> None:
    lock = target_of(subject, calm).lock
    if running_at(lock) or not lock.servers:
        raise ConfigurationError(
            f"--lock {subject.lock}: the series needs servers of the lock that Fencepost starts, to cut them"
            " off and to kill them: name the service that the program uses, such as --lock redis, or make"
            " only the runs without such faults, such as --only calm"
        )


def most_runs(experiments: Sequence[Experiment]) -> int:
    """Return how many runs `run_series` makes at most."""
    return sum(MOST_TRIES if each.question else 1 for each in experiments)


def run_series(
    subject: Subject, experiments: Sequence[Experiment], engine: Engine, options: RunOptions
) -> Generator[Seen, None, None]:
    """Make the runs one after another.

    Raises InfrastructureError if the run without any fault has no verdict, or if the program does not even
    start for the first one. What a restart or a failover does to a lock is partly luck: such a run is made
    up to three times.
    """
    seen: list[Seen] = []
    for experiment in experiments:
        for _ in range(MOST_TRIES):
            try:
                seen.append(_run(subject, experiment, engine, options))
            except InfrastructureError as error:
                did_not_start = isinstance(error.__cause__, ProgramError)
                if not experiment.faults or (did_not_start and not seen):
                    raise
                first, *others = error.lines
                failure = " ".join([first, *map(str.strip, others[-1:])])
                seen.append(Seen(experiment=experiment, failure=failure))
            yield seen[-1]
            if not experiment.question or is_answered(experiment.question, subject, seen):
                break


def _run(subject: Subject, experiment: Experiment, engine: Engine, options: RunOptions) -> Seen:
    try:
        return seen_in(experiment, to_verdict(target_of(subject, experiment), engine, options))
    except ConfigurationError as error:
        if str(error) == GIVES_NONE:
            raise ConfigurationError(NEEDS_TOKENS) from None
        raise
