"""What modules may call: one prints, and one reaches what others may have made; each other way is listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

ROOM = "harness/core/printing.py"
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
    """The names of what a module calls: `print`, `click.echo`, `sys.stdout.write`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield dotted(node.func)


def dotted(called: ast.expr) -> str:
    """What is called, without what its object is if that has no name."""
    if isinstance(called, ast.Attribute):
        return f"{dotted(called.value)}.{called.attr}"
    return getattr(called, "id", "")


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


PACKAGES = ("campaign", "card", "cli", "files", "report", "run", "search", "shrink")
"""Those that handle folders of runs, shards, nights and corpora."""

WAYS = {
    *("open", "read_bytes", "read_text", "write_bytes", "write_text"),
    *("glob", "rglob", "iterdir", "scandir", "listdir", "walk"),
    *("copy", "copy2", "copyfile", "copytree", "move", "extract", "extractall"),
    *("unlink", "rmtree", "rmdir", "symlink_to", "hardlink_to"),
}
"""Names of calls that read, list, write or remove files by a path."""

ELSEWHERE = {
    "campaign/campaign.py": {"rmtree"},  # the servers of our own night
    "campaign/cells.py": {"glob"},  # a pattern that the user's campaign file names
    "campaign/corpus.py": {"write_bytes"},  # a temporary folder of ours
    "campaign/dask_executor.py": {"open", "read_text", "write_text"},  # our own night; an archive in memory
    "campaign/execution.py": {"read_text"},  # the log of a run that this process makes
    "campaign/issues.py": {"open"},  # the file that GitHub names
    "campaign/merge.py": {"copy", "read_text"},  # `Shard.copy`; the user's campaign file, loaded before
    "campaign/recheck_history.py": {"write_bytes"},  # a temporary folder of ours
    "campaign/night.py": {"open"},  # a descriptor that follows no link
    "campaign/results.py": {"open"},  # creates the user's file
    "campaign/replay.py": {"read_bytes"},  # of `files`, within the folder of a run
    "card/seen.py": {"read_text"},  # a run that this process has made
    "cli/app.py": {"open"},  # /dev/null
    "cli/commands/corpus.py": {"iterdir"},  # sizes of the entry that was just made
    "cli/run_campaign.py": {"read_text"},  # the user's campaign file, loaded before
    "cli/shrink_run.py": {"read_text"},  # the plan of a run that this process has made
    "cli/zoo_exhibits.py": {"read_text"},  # targets that ship
    "files/atomic_files.py": {"open", "glob", "unlink"},  # new files under a random name
    "files/dated_folders.py": {"open", "symlink_to"},  # our own folders and `latest`
    "files/environment.py": {"open"},  # digests of the user's own program
    "files/known_digests.py": {"listdir", "open", "unlink"},  # our own state
    "files/logs.py": {"open", "scandir"},  # of processes that this one has started, following no link
    "files/private_folder.py": {"open"},  # checked, following no link
    "files/received.py": {"open", "read_bytes", "scandir", "unlink"},  # the one module
    "files/user_folders.py": {"glob", "unlink"},  # our own cache
    "report/console.py": {"open"},  # /dev/null
    "report/page.py": {"read_text"},  # the same
    "report/run.py": {"read_text"},  # assets of ours
    "run/recheck.py": {"read_text"},  # of `formats`, of a file that the user names
    "run/replay.py": {"read_bytes"},  # of `files`, of a plan that the user names
    "run/show.py": {"open"},  # a browser
    "run/server_logs.py": {"write_text"},  # of `RunFolder`
    "run/runner.py": {"write_text"},  # of `RunFolder`
    "shrink/excerpt.py": {"write_bytes"},  # a temporary folder of ours, or what the user names
}


def test_files_are_reached_through_one_module_or_for_a_listed_reason(called: dict[str, set[str]]) -> None:
    folders = tuple(f"harness/{package}/" for package in PACKAGES)

    found = {
        file.removeprefix("harness/"): ways
        for file, names in called.items()
        if file.startswith(folders) and (ways := {name.rpartition(".")[2] for name in names} & WAYS)
    }

    assert found == ELSEWHERE
