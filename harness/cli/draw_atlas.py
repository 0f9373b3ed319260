"""Draw the atlas of one server: what is about to be sent, a paragraph for each cell, and what is left."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

from harness.atlas.cells import MEANINGS, AtlasCell, Atomicity
from harness.atlas.history import write_history
from harness.atlas.race import ConditionalRequest
from harness.atlas.removal import Left, remove
from harness.atlas.survey import Survey
from harness.core import printing
from harness.core.exit_codes import ExitCode, of_several
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.files import dated_folders
from harness.report.sentences import count
from harness.run.recheck import judge_file

_CODES = {
    Atomicity.ATOMIC: ExitCode.AS_EXPECTED,
    Atomicity.NOT_ATOMIC: ExitCode.VIOLATION,
    Atomicity.IGNORED: ExitCode.VIOLATION,
    Atomicity.UNKNOWN: ExitCode.UNKNOWN,
}

_LEFT = {
    Left.NOTHING: "  removed {keys}; nothing is left",
    Left.UNLISTED: (
        "  removed {keys}; the server does not list versions: if the bucket keeps them, they are left {where}"
    ),
    Left.SOMETHING: "not everything {where} could be removed: delete all versions there with a client of S3",
}


def draw_atlas(survey: Survey, folder: Path, *, text: TextIO, as_json: bool) -> ExitCode:
    """Run all races, print their cells, and write a history of each that failed.

    Ctrl-C ends it like an error: what was written to the server is removed all the same.
    """

    def say(line: str) -> None:
        printing.show(line, to=text)

    say(
        f"{survey.server.name}: up to {survey.requests:,} requests with {survey.bytes:,} bytes of objects,"
        f" below {survey.prefix} in the bucket {survey.server.bucket}; then everything there is removed"
    )
    codes: list[ExitCode] = []
    documents: list[dict[str, Any]] = []
    failed: set[ConditionalRequest] = set()
    # Made for the first history.
    refused, remedy = f"{folder}: cannot hold the histories", "name another folder with --atlas"
    new_folder = cache(partial(dated_folders.create_or_say, folder, refused=refused, remedy=remedy))
    with ThreadPoolExecutor(survey.clients) as pool:
        try:
            for cell in survey.run(pool):
                codes.append(_CODES[cell.verdict])
                failed |= {cell.operation} if cell.doubles else set()
                documents.append(cell.document() | _shown(cell, new_folder, say))
        except KeyboardInterrupt:
            codes.append(ExitCode.INTERRUPTED)
            say("interrupted")
        finally:
            left = _removed(survey, pool, say)
    for operation in sorted(failed):
        say(f"  {operation}: {MEANINGS[operation]}")
    if left is Left.SOMETHING:
        codes.append(ExitCode.INFRASTRUCTURE)
    if as_json:
        printing.show_document(
            {
                "schema": 1,
                "server": survey.server.name,
                "bucket": survey.server.bucket,
                "prefix": survey.prefix,
                "keys": survey.keys,
                "clients": survey.clients,
                "size": survey.size,
                "cells": documents,
                "left": left.name.lower(),
            }
        )
    return of_several(codes)


def _shown(cell: AtlasCell, new_folder: Callable[[], Path], say: Callable[[str], None]) -> dict[str, Any]:
    """Print a cell; return its history and the findings in it."""
    say(f"  {cell.operation:8} {cell.mode or '':6} {cell.sentence()}")
    if cell.smallest is None:
        return {"history": None, "findings": []}
    file = write_history(new_folder() / f"{cell.operation}-{cell.mode}", cell.operation, cell.smallest)
    findings = sorted({each.anomaly for each in judge_file(file).verdict.findings})
    say(f"                  {', '.join(findings)}: {typed('recheck', as_seen_from_here(file))}")
    return {"history": str(file), "findings": findings}


def _removed(survey: Survey, pool: ThreadPoolExecutor, say: Callable[[str], None]) -> Left:
    left = Left.SOMETHING
    where = f"below {survey.prefix} in the bucket {survey.server.bucket}"
    if not survey.written:
        return Left.NOTHING
    try:
        left = remove(survey.server, survey.prefix, survey.written, survey.requests, pool)
    finally:  # also after another Ctrl-C
        say(_LEFT[left].format(where=where, keys=count(len(survey.written), "key")))
    return left
