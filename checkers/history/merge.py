"""Join the files that the OS processes of a run wrote into one history, in the order of time.

A process appends its events as they happen and may be killed at any moment, so
the last line of its file may be half written. Two threads of one process write
to the same file, so only the events of one *logical* process are in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from checkers.history.jsonl import batches, decode, decoded, half_written, read_lines
from checkers.history.lines import Nanoseconds


class _Stamp(msgspec.Struct):
    """The part of an event that determines its place."""

    time: Nanoseconds
    process: int | str


_STAMP = msgspec.json.Decoder(_Stamp)


def merge(
    parts: Iterable[Path], notify: Callable[[str], None] = lambda _notice: None, within: Path | None = None
) -> list[str]:
    """Return the events of all parts in the order of time, each as a line without its newline.

    Events of one logical process keep their order. `notify` receives a
    notice of each half-written last line that was dropped. No link in the folder `within` is followed.

    Raises:
        HistoryError: a line is not an event, or time runs backwards within a process.
    """
    events = [event for part in parts for event in _events(part, notify, within)]
    events.sort(key=lambda event: event[0])
    return [text for _, text in events]


def _events(part: Path, notify: Callable[[str], None], within: Path | None) -> Iterable[tuple[int, str]]:
    latest: dict[int, int] = {}
    numbered = batches(read_lines(part, within=within), str(part))
    for line, stamp in decoded(numbered, _STAMP, lambda line: decode(line, _STAMP)):
        if stamp is None:
            notify(half_written(line.file, line.number))
            continue
        process, time = stamp.process, stamp.time
        if isinstance(process, int):  # the nemesis watches several faults at once
            if time < latest.get(process, 0):
                problem = f"time runs backwards in process {process}, from {latest[process]} to {time}"
                raise line.error(f"{problem}; a process records its events as they happen")
            latest[process] = time
        yield time, line.text.decode().rstrip("\r\n")
