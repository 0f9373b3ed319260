"""Draw the atlas of each S3 server that runs here without an account, and write docs/atlas.md.

The servers are installed outside of this repository, in ~/.cache/fencepost-atlas unless ATLAS_CACHE names
another folder; that needs Go, Java, Maven and minutes. They run one at a time. What was seen is kept in
docs/atlas, one folder a server, so that one can be drawn again alone:

    make atlas NAMES="s3proxy-4.1.0"
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

from checkers.history.records import Outcome
from harness.atlas.cells import MEANINGS, AtlasCell
from harness.atlas.history import write_history
from harness.atlas.race import GONE, ConditionalRequest, Mode, Race, Racers
from harness.atlas.wire import S3Server
from harness.run.recheck import judge_file
from tools.atlas_servers import ENVIRONMENT, SERVERS, Running, Tried, install

ROOT = Path(__file__).parents[1]
FOUND = ROOT / "docs/atlas"
PAGE = ROOT / "docs/atlas.md"
KEYS, MANY_KEYS = 200, 1_000
"""Of each operation in each mode; many where few showed nothing."""
CLIENTS, SIZE = 16, 1024  # as the command has them
STOPPED, KILLED = "stopped", "killed"
"""The modes in which the server is under a fault."""
_CELLS = [(operation, mode) for operation in ConditionalRequest for mode in Mode]


def main(names: Sequence[str]) -> None:
    """Draw the atlas of these servers, or of all, and the page of all that were ever drawn."""
    for server in SERVERS:
        if not names or server.slug in names:
            install(server)
            with tempfile.TemporaryDirectory() as data, closing(Running(server, Path(data))) as running:
                _draw(running)
            PAGE.write_text("".join(page()))


def _draw(running: Running) -> None:
    server = running.tried
    folder = FOUND / server.slug
    with tempfile.TemporaryDirectory() as histories:
        found = _atlas(server, histories, "--keys", str(KEYS))
        held = [each for each in ConditionalRequest if _has_held(found["cells"], each)]
        more = [word for each in held for word in ("--only", each)]
        if more:
            again = _atlas(server, histories, "--keys", str(MANY_KEYS), *more)
            cells = [each for each in found["cells"] if each["operation"] not in held] + again["cells"]
            cells.sort(key=lambda each: list(ConditionalRequest).index(each["operation"]))
            found |= {"cells": cells, "more": again["command"]}
        raced = {each["operation"] for each in found["cells"] if each["mode"]}
        found["faults"] = _under_faults(
            running, [each for each in ConditionalRequest if each in raced], histories
        )
        if _failures(found) < _failures(_before(folder)):
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for cell in (*found["cells"], *found["faults"]):
            if cell["history"]:
                kept = folder / f"{cell['operation']}-{cell['mode']}.jsonl"
                shutil.copyfile(cell["history"], kept)
                cell["history"] = f"{server.slug}/{kept.name}"
    found["date"] = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    (folder / "atlas.json").write_text(f"{json.dumps(found, indent=1)}\n")


def _has_held(cells: Sequence[dict[str, Any]], operation: ConditionalRequest) -> bool:
    return all(each["mode"] and not each["history"] for each in cells if each["operation"] == operation)


def _atlas(server: Tried, histories: str, *options: str) -> dict[str, Any]:
    """Run `fencepost atlas`, and return its document with the command."""
    command = [
        *("atlas", f"http://127.0.0.1:{server.port}", "--bucket", "atlas"),
        *("--user", "atlas", "--password-env", "ATLAS_SECRET", *options),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "harness.cli", *command, "--format", "json", "--atlas", histories],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return {"command": ["fencepost", *command], **found}


def _under_faults(
    running: Running, operations: Sequence[ConditionalRequest], histories: str
) -> list[dict[str, Any]]:
    """Race while the server is stopped, and while it is killed if it keeps its objects."""
    faults = {STOPPED: running.stopped, **({KILLED: running.killed} if running.tried.keeps else {})}
    found = []
    with ThreadPoolExecutor(CLIENTS) as pool:
        for name, fault in faults.items():
            racers = Racers(server=running.at, clients=CLIENTS, size=SIZE, pool=pool, fault=fault)
            for operation in operations:
                keys = [f"{name}-{operation}-{number}" for number in range(KEYS)]
                races = [racers.race(operation, Mode.HELD, key) for key in keys]
                cell = AtlasCell(operation=operation, mode=Mode.HELD, races=races)
                document = cell.document() | {"mode": name, "history": None, "findings": []}
                document["acknowledged_and_gone"] = sum(_is_gone(running.at, race) for race in races)
                if cell.smallest:
                    file = write_history(Path(histories) / f"{operation}-{name}", operation, cell.smallest)
                    judged = judge_file(file).verdict.findings
                    document |= {"history": str(file), "findings": sorted({each.anomaly for each in judged})}
                found.append(document)
    return found


def _is_gone(at: S3Server, race: Race) -> bool:
    """Is there another object than that of an acknowledged PUT, or none?"""
    won = [each for each in race.attempts if each.method == "PUT" and each.outcome is Outcome.OK]
    found = at.ask(at.request("GET", race.key))
    return bool(won) and (
        found.status == GONE
        or (
            found.status == HTTPStatus.OK
            and json.loads(found.body)["owner"] not in {f"c{each.client}" for each in won}
        )
    )


def _before(folder: Path) -> dict[str, Any]:
    file = folder / "atlas.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"cells": []}
    return found


def _failures(found: dict[str, Any]) -> int:
    return sum(cell["history"] is not None for cell in found["cells"])


def page() -> Iterator[str]:
    """docs/atlas.md, from the files in docs/atlas."""
    seen = {server: FOUND / server.slug / "atlas.json" for server in SERVERS}
    atlases = {server: json.loads(file.read_text()) for server, file in seen.items() if file.exists()}
    yield HEAD
    modes = " | ".join(f"{operation} {mode}" for operation, mode in _CELLS)
    yield f"| server | {modes} | drawn on |\n|---|{'---|' * len(_CELLS)}---|\n"
    for server, atlas in atlases.items():
        cells = {(each["operation"], each["mode"]): each for each in atlas["cells"]}
        shown = " | ".join(_figure(cells, operation, mode) for operation, mode in _CELLS)
        yield f"| {server.name} | {shown} | {atlas['date']} |\n"
    yield FAULTS
    columns = [(operation, fault) for operation in ConditionalRequest for fault in (STOPPED, KILLED)]
    yield f"| server | {' | '.join(f'{operation} {fault}' for operation, fault in columns)} |\n"
    yield f"|---|{'---|' * len(columns)}\n"
    for server, atlas in ((each, atlas) for each, atlas in atlases.items() if "faults" in atlas):
        unraced = {(each["operation"], None): each for each in atlas["cells"] if each["mode"] is None}
        cells = unraced | {(each["operation"], each["mode"]): each for each in atlas["faults"]}
        shown = " | ".join(_figure(cells, *column, "keeps nothing") for column in columns)
        yield f"| {server.name} | {shown} |\n"
    yield FOOT
    for server, atlas in atlases.items():
        commands = (f"{' '.join(atlas[each])}\n" for each in ("command", "more") if each in atlas)
        yield f"### {server.name}\n\n```\n{''.join(commands)}```\n\n"
        yield from (f"- {line}\n" for line in _lines(atlas))
        yield "\n"


def _figure(
    cells: dict[tuple[str, str | None], Any], operation: str, mode: str, missing: str = "not raced"
) -> str:
    cell = cells.get((operation, None)) or cells.get((operation, mode))
    if cell is None:
        return missing
    if cell["mode"] is None or (cell["verdict"] == "unknown" and mode not in {STOPPED, KILLED}):
        return str(cell["verdict"])
    figure = f"{cell['keys_with_two_winners']}/{cell['keys']}"
    if not cell["history"] and mode in {STOPPED, KILLED} and cell["acknowledged_and_gone"]:
        figure += f", **{cell['acknowledged_and_gone']} gone**"
    return f"[**{figure}**](atlas/{cell['history']})" if cell["history"] else figure


def _lines(atlas: dict[str, Any]) -> Iterator[str]:
    for cell in (*atlas["cells"], *(each for each in atlas.get("faults", ()) if each["history"])):
        name = " ".join(filter(None, (cell["operation"], cell["mode"])))
        if cell["reason"]:
            yield f"{name}: {cell['verdict']}: {cell['reason']}"
        elif cell["history"]:
            gone = cell["acknowledged_and_gone"]
            lost = f"; the acknowledged PUT was gone in {gone}" if gone else ""
            yield (
                f"{name}: {cell['keys_with_two_winners']} of {cell['keys']} keys,"
                f" up to {cell['most_winners']} winners{lost}:"
                f" `fencepost recheck docs/atlas/{cell['history']}` finds {', '.join(cell['findings'])}"
            )
        elif cell["undecided"]:
            yield f"{name}: {cell['undecided']} of {cell['keys']} keys are undecided"
    if not any(cell["history"] or cell["reason"] for cell in (*atlas["cells"], *atlas.get("faults", ()))):
        yield "No key had more than one winner."
    if atlas.get("left") == "something":
        yield "It did not let everything be removed that the races had written."


_MEANINGS = "".join(f"- **{operation}**: {meaning}\n" for operation, meaning in MEANINGS.items())
HEAD = f"""# The atlas of conditional writes

A lock on S3 needs a write that only one client can win: it creates an object if there is none, or replaces the one that the client has read. Many servers accept these conditions, and refuse them correctly as long as requests come one after another. Some check the condition and write in two steps: then several clients that arrive together all win, and each believes that it holds the lock.

`fencepost atlas` races for objects on your own server, and counts:

```
export S3_SECRET=…
fencepost atlas http://127.0.0.1:9000 --bucket mine --user ID --password-env S3_SECRET
```

It says first how many requests and bytes it sends. It works in one bucket, below a new random prefix (`fencepost-atlas-…/`). It stops and kills nothing, and removes all versions of what it wrote, also after Ctrl-C or an error. If it cannot, it says what is left. A request whose answer was lost may still take effect after that.

| operation | what the clients send, all for one key; at most one may succeed |
|---|---|
| create | each a `PUT` with `If-None-Match: *` |
| replace | each a `PUT` with `If-Match` and the same ETag |
| delete | one a `PUT`, another a `DELETE`, both with `If-Match` and the same ETag |

| mode | when the bytes leave |
|---|---|
| burst | each request at once |
| held | all but the last byte of each request, then all last bytes |
| slow | each body in four pieces, all clients in step |

First each condition is tried without a race. A server that accepts a second create, a wrong ETag, or that of an object that is replaced or deleted, ignores the condition, and nothing is raced.

**What counts.** A 2xx is a win; 404, 409 and 412 are refusals. Anything else leaves open who won: a timeout, a closed connection, a server error, another refusal. One key with two winners is enough, whatever answers were lost. An operation is called atomic if no key had two winners, and at least nine in ten had exactly one and lost no answer. That is what these races showed, not a proof.

**What it means** if a key has more than one winner:

{_MEANINGS}
For each operation and mode that failed, one race is written as `atlas/TIME/…/history.jsonl`, which `fencepost recheck` judges like any history. A `PUT` that won is a grant whose token is the epoch in its body, so two of them are a duplicate-token. A `PUT` and a `DELETE` of the same version are two writes with the same token, of which a fence accepts one: a stale-write.

`--format json` prints one document, with a cell for each operation and mode: its verdict, its counts, the answers by status, and the file of its history. A race that goes wrong rarely needs more keys: `--only delete --keys 5000`.

Exit codes: 0, all atomic; 1, a key had two winners, or a condition is ignored; 2, unknown; 3, the server cannot be reached, or something is left there; 4, wrong use.

## Figures

Keys with more than one winner, of those that 16 clients raced for (one `PUT` and one `DELETE` for *delete*), each server with its defaults, on one machine with two busy cores. A figure links the history of one such race. A rare failure does not show each time, so a drawing replaces an earlier one only if no fewer cells failed. `make atlas` makes this page.

"""  # noqa: E501 - a paragraph is a line
FAULTS = """
Two more columns for each operation come from `make atlas` alone, which starts the servers itself. *Stopped*: the mode *held*, with the server stopped by SIGSTOP while the last bytes are sent, so that it finds all requests at once. *Killed*: *held*, with SIGKILL up to 20 ms after the last bytes, and a restart; answers are lost, so what is counted are keys with two acknowledged winners, and acknowledged objects that are not there afterwards. A server that has none of its objects after a restart is not killed: it *keeps nothing*.

"""  # noqa: E501 - as above
FOOT = """
versitygw (`posix`) and s3proxy (`filesystem-nio2`) store files, and gofakes3 keeps objects in memory. Other backends may give other figures. No bucket keeps versions here; in one that does, versitygw 1.8.0 accepts a `PUT` with the ETag of a deleted object, without any race. moto, s3mock, gofakes3 and ministack are made for tests: a test of a lock on one of them may pass or fail for a reason that your real server does not have. fake-gcs-server and Azurite have no row: Google's conditions compare generations (`ifGenerationMatch`), Azure's locks are leases, and neither is this API.

"""  # noqa: E501 - as above


if __name__ == "__main__":
    main(sys.argv[1:])
