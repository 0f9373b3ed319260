"""A worker of a campaign: runs asked for on one stream and answered on another, on servers that they share.

A request is a line of JSON, and so is its answer. Messages of a run go to stderr, which is the file that
the request names.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TextIO

import msgspec

from checkers.text.printable import as_json
from checkers.vocabulary.document import VerdictDocument
from harness.campaign.execution import RunReply, messages_in
from harness.cli.run_targets import run_all, sentence_of
from harness.core.errors import FencepostError
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
    log: str  # the file for its messages; "": where those of the worker go


def make_runs(name: EngineName, servers: Path | None, requests: TextIO, answers: TextIO) -> None:
    """Make runs until there are no more requests, or one was interrupted; stop the servers then.

    Without a folder for `servers`, the runs share none.
    """
    with ExitStack() as stack:
        engine: Engine | None = None
        for line in iter(requests.readline, ""):
            request = msgspec.json.decode(line, type=RunRequest)
            if request.log:
                _print_to(Path(request.log))
            try:
                engine = engine or _engine(name, servers, stack)
                answer = _make(request, engine)
            except FencepostError as error:
                say(*error.lines)
                answer = RunReply(code=of_error(error), error=sentence_of(error))
            print(as_json(msgspec.to_builtins(answer)), file=answers, flush=True)
            if answer.code == ExitCode.INTERRUPTED:
                break


def _engine(name: EngineName, servers: Path | None, stack: ExitStack) -> Engine:
    engine = choose(name, say)
    return stack.enter_context(closing(ReusingEngine(engine, servers))) if servers else engine


def _make(request: RunRequest, engine: Engine) -> RunReply:
    again = ("--engine", engine.name)
    place = ("--seed", str(request.seed), "--runs", request.runs, request.target)
    options = RunOptions(
        seed=request.seed, runs=Path(request.runs), command=("fencepost", "run", *again, *place), again=again
    )
    documents: list[VerdictDocument] = []
    errors: list[str] = []
    code = run_all(
        [load(request.target)],
        engine,
        options,
        text=sys.stderr,
        judged=documents.append,
        failed=errors.append,
    )
    verdict = msgspec.to_builtins(documents[0]) if documents else None
    return RunReply(code=code, error=errors[0] if errors else "", verdict=verdict)


def _print_to(log: Path) -> None:
    sys.stderr.flush()
    with messages_in(log) as messages:
        for stream in (1, 2):
            os.dup2(messages.fileno(), stream)
