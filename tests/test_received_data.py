"""What others may have made is reached through one module: all other ways to a file are listed here."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.repository import ROOT

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


def test_files_are_reached_through_one_module_or_for_a_listed_reason() -> None:
    found = {}
    for package in PACKAGES:
        for file in sorted((ROOT / "harness" / package).rglob("*.py")):
            if ways := _ways(file):
                found[str(file.relative_to(ROOT / "harness"))] = ways

    assert found == ELSEWHERE


def _ways(file: Path) -> set[str]:
    calls = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)]
    return {name for call in calls if (name := _name(call.func)) in WAYS}


def _name(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
