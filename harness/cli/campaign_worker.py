"""A worker of a campaign: runs asked for on one stream and answered on another, on servers that they share.

A request is a line of JSON; its answer is a line with the exit code and the verdict document, if
there is one. Messages of a run go to stderr, which is the file that the request names.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import TextIO

import msgspec

from checkers.text.printable import as_json
from checkers.vocabulary.document import VerdictDocument
from harness.campaign.execution import messages_in
from harness.cli.run_targets import run_all
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode, of_error
from harness.core.printing import say
from harness.engines.choice import EngineName, choose
from harness.engines.engine import Engine
from harness.engines.reuse import ReusingEngine
from harness.run.runner import RunOptions
from harness.spec import load


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A run to make."""

    target: str  # the file
    seed: int
    runs: str  # the folder for its folder
    log: str  # the file for its messages


def make_runs(engine: EngineName, servers: Path, requests: TextIO, answers: TextIO) -> None:
    """Make runs until there are no more requests, or one was interrupted; stop the servers then."""
    with closing(ReusingEngine(choose(engine, say), servers)) as reusing:
        for line in iter(requests.readline, ""):
            request = msgspec.json.decode(line, type=RunRequest)
            _print_to(Path(request.log))
            documents: list[VerdictDocument] = []
            code = _make(request, reusing, documents)
            document = as_json(msgspec.to_builtins(documents[-1])) if documents else ""
            print(int(code), document, file=answers, flush=True)
            if code is ExitCode.INTERRUPTED:
                break


def _make(request: RunRequest, engine: Engine, documents: list[VerdictDocument]) -> ExitCode:
    again = ("--engine", engine.name)
    place = ("--seed", str(request.seed), "--runs", request.runs, request.target)
    options = RunOptions(
        seed=request.seed,
        runs=Path(request.runs),
        command=("fencepost", "run", *again, *place),
        again=again,
    )
    try:
        target = load(request.target)
    except ConfigurationError as error:
        say(*error.lines)
        return of_error(error)
    return run_all([target], engine, options, text=sys.stderr, judged=documents.append)


def _print_to(log: Path) -> None:
    sys.stderr.flush()
    with messages_in(log) as messages:
        os.dup2(messages.fileno(), 2)
