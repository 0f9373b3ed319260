"""Output of the commands, on stdout and stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from harness.core.printing import pass_on, say, show_document

if TYPE_CHECKING:
    from harness.engines.cleanup import Sweep
    from harness.spec import StorageSpec, Target
    from harness.spec.selection import Selection


def text_stream(output: str) -> TextIO:
    """Return the stream for text: stderr if JSON documents go to stdout."""
    return sys.stderr if output == "json" else sys.stdout


def documents(output: str) -> Callable[[object], None]:
    """Print documents as JSON, one a line, if the user asked for JSON."""
    return show_document if output == "json" else lambda _: None


def write_lines(file: Path, lines: Callable[[], Iterable[str]], *, force: bool) -> None:
    """Write lines to the file that the user named, or to stdout; a file is refused before any work."""
    from harness.core.paths import path_of
    from harness.files.atomic_files import check_output, write_output

    if str(file) == "-":
        pass_on(lines())
    else:
        check_output(path_of(str(file)), force=force)
        write_output(path_of(str(file)), lines(), force=force)


def print_unselected(selected: Selection) -> None:
    """Print which words selected no target."""
    for sentence in selected.empty:
        say(sentence)
    if not selected.names:
        say("no target was selected; `fencepost targets` lists the shipped ones")


def print_sweep(swept: Sweep) -> None:
    """Print what was removed, and what was kept and why."""
    for thing in swept.removed:
        say(f"removed a leftover of an earlier run: {thing}")
    for thing in swept.kept:
        say(f"left in place: {thing}")
    for notice in swept.notices:
        say(notice)


def described(target: Target) -> str:
    """Describe a target in one line."""
    from harness.core.duration import format_duration

    lock, storage = target.lock, target.storage
    faults = ", ".join(dict.fromkeys(fault.kind for fault in target.faults)) or "no fault"
    count = f" ×{len(lock.servers)}" if lock.servers else ""
    return (
        f"{lock.kind}{count}, {_fence(storage)}, {faults}, "
        f"{format_duration(target.workload.duration)}: expects {', '.join(target.expected) or 'valid'}"
    )


def _fence(storage: StorageSpec) -> str:
    """Return such as "postgres, no fence"; only a fence has a policy."""
    if storage.fencing == "none":
        return f"{storage.kind}, no fence"
    return f"{storage.kind}, {storage.fencing}" + (f" ({storage.policy})" if storage.policy else "")
