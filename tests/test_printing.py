"""One module prints; what others print is data for another process, or drawn on a terminal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

ROOM = "harness/core/printing.py"
MAY_PRINT = re.compile(r"write|print|echo|pass_on")
STREAMS = {"stdout", "stderr"}
OTHERS = {
    "harness/clients/recorder.py": "tracebacks of a user's class, to the log of its client",
    "harness/network/relay_process.py": "ports for the harness, over a pipe; the rest goes to a log",
    "harness/processes/cleanup_process.py": "JSON for the harness, over a pipe",
    "harness/run/removal.py": "failures for the harness, over a pipe",
    "harness/cli/campaign_worker.py": "JSON for the campaign, over a pipe",
    "harness/cli/__init__.py": "one word of its own, before anything is loaded",
    "harness/cli/campaign_screen.py": "lines above a picture, each made by `line`",
    "harness/report/console.py": "lines above a picture, each made by `line`",
}
"""Why each other module may write to a stream."""
AS_DATA = {
    "harness/cli/output.py": "a converted history, escaped as its format demands",
    "harness/cli/run_campaign.py": "commands to GitHub, escaped by harness.campaign.issues",
    "harness/cli/commands/schema.py": "a schema of ours",
}
"""Why each module may print what `printing` does not escape."""


def calls(file: Path) -> Iterator[str]:
    """The names of what a module calls, if it may print at all: `print`, `click.echo`, `sys.stdout.write`."""
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if MAY_PRINT.search(text) else ():
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def prints(call: str) -> bool:
    """Does a call write to a terminal, as far as its name says?"""
    *parts, name = call.split(".")
    if name in {"write", "writelines"}:
        return bool(STREAMS & set(parts))
    return name in {"print", "echo", "secho", "print_exc", "print_exception"}


@pytest.fixture(scope="module")
def called() -> dict[str, set[str]]:
    """What each module calls."""
    packages = (ROOT / package for package in ("checkers", "workloads", "harness", "fencepost"))
    files = (file for package in packages for file in package.rglob("*.py"))
    return {str(file.relative_to(ROOT)): set(calls(file)) for file in files}


def test_one_module_prints(called: dict[str, set[str]]) -> None:
    assert {name for name, names in called.items() if any(map(prints, names))} == {ROOM, *OTHERS}


def test_what_is_printed_unescaped_is_data(called: dict[str, set[str]]) -> None:
    assert {name for name, names in called.items() if "pass_on" in names} == AS_DATA.keys()
