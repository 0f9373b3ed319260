"""A corpus: recorded histories with the verdict that each must keep, judged again without any server.

`corpus/<target>-<fingerprint>/` holds one run in a few KB: `expected.json` and, compressed, its
target, its plan of faults, and the smallest excerpt that still has its first finding; a valid run is
kept whole. If the run was shrunk, the smallest target and its plan are there, too.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import msgspec

from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.printable import as_json
from checkers.vocabulary.document import VerdictDocument
from harness.campaign.replay import digest
from harness.core.errors import ConfigurationError
from harness.core.grouping import grouped
from harness.files import received, run_files
from harness.files.atomic_files import USER_MODE, replace_file, replacement
from harness.files.environment import git_commit
from harness.files.received import component
from harness.files.run_folder import COMMITS, HISTORY, MINIMAL_PLAN, MINIMAL_TARGET, PLAN
from harness.processes.run_notes import temporary_folder
from harness.report.answer import times
from harness.report.first_finding import fingerprint, primary
from harness.run.recheck import Judged, judge_file
from harness.shrink.excerpt import smallest

EXPECTED = "expected.json"
COMPRESSED = ".xz"
RECORDED = (HISTORY, COMMITS)
OTHERS = (PLAN, run_files.TARGET, MINIMAL_PLAN, MINIMAL_TARGET)
_MOST_STORED = 4 << 20  # bytes of an entry, compressed
_MOST_JUDGED = 64 << 20  # bytes of a file, decompressed
_MOST_MEMORY = 128 << 20  # bytes; to decompress


class ExpectedVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict that an entry must get, and where the entry came from; expected.json."""

    version: int = msgspec.field(name="schema", default=1)
    target: str
    seed: int | None
    verdict: str
    as_expected: bool
    anomalies: dict[str, int]  # the violations, by name
    fingerprint: str | None
    minimal: bool  # is it the proof of one finding, or the whole history?
    plan: str | None  # the digest of the plan of faults
    fencepost: str
    git_commit: str | None

    def differences(self, document: VerdictDocument) -> str:
        """Say how a verdict differs from this one; "" if it does not."""
        return ", ".join(
            f"{name} {now}, was {was}"
            for name, now, was in (
                ("verdict", document.verdict, self.verdict),
                ("as expected", document.as_expected, self.as_expected),
                ("violations", times(document.violations) or "none", times(self.anomalies) or "none"),
            )
            if now != was
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An entry that was judged again."""

    path: Path
    change: str = ""  # how its verdict differs from what is expected
    error: str = ""  # why it could not be judged


def add(run: Path, corpus: Path) -> Path:
    """Judge a run, store it as an entry, and return the entry's folder.

    Raises ConfigurationError if its verdict is unknown, or if the entry already exists.
    """
    run_files.check(run)
    judged = _judged(run)
    document, header = judged.document, judged.history.header
    if document.verdict == "unknown":
        raise ConfigurationError(f"{run}: its verdict is unknown: {'; '.join(document.reasons)}")
    first = primary(document.as_dict())
    target = component(header.target, run / HISTORY)
    shape = fingerprint(header.target, document.as_dict()) if first else None
    with temporary_folder() as proof:
        minimal = first is not None
        if minimal:
            smallest(run, judged).write(proof / HISTORY, proof / COMMITS)
        source = proof if minimal else run
        expected = ExpectedVerdict(
            target=target,
            seed=header.seed,
            verdict=document.verdict,
            as_expected=document.as_expected,
            anomalies=dict(_judged(source).document.violations),
            fingerprint=shape,
            minimal=minimal,
            plan=digest(run / PLAN),
            fencepost=metadata.version("fencepost"),
            git_commit=git_commit(),
        )
        entry = corpus / f"{target}-{shape or f'valid-{header.seed}'}"
        _store(
            entry,
            expected,
            _contents(source, RECORDED, _MOST_JUDGED) | _contents(run, OTHERS, limits.DOCUMENT),
        )
    return entry


def entries(corpus: Path) -> tuple[Path, ...]:
    """Return the folders of all entries, by name."""
    return tuple(
        corpus / name
        for name in received.listed(corpus)
        if received.is_folder(corpus, name) and received.exists(corpus, name, EXPECTED)
    )


def read_expected(entry: Path) -> ExpectedVerdict:
    """Read the verdict of an entry; ConfigurationError if it is broken, HistoryError if it is unreadable."""
    try:
        raw = received.read(entry, EXPECTED, most=_MOST_STORED)
        return msgspec.json.decode(raw or b"", type=ExpectedVerdict)
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{entry / EXPECTED}: {error}") from None


def check(corpus: Path) -> Iterator[Checked]:
    """Judge every entry again; one that cannot be judged does not stop the others."""
    for entry in entries(corpus):
        try:
            expected = read_expected(entry)
            with temporary_folder() as temporary:
                _unpack(entry, temporary)
                judged = _judged(temporary)
        except (HistoryError, ConfigurationError) as error:
            yield Checked(path=entry, error=str(error))
        else:
            yield Checked(path=entry, change=expected.differences(judged.document))


def fingerprints(corpus: Path) -> frozenset[str]:
    """Return the fingerprints of the entries."""
    return frozenset(shape for entry in entries(corpus) if (shape := read_expected(entry).fingerprint))


def seeds(corpus: Path) -> Mapping[str, tuple[int, ...]]:
    """Return the seeds of the entries, by target."""
    expected = map(read_expected, entries(corpus))
    found = grouped((each.target, each.seed) for each in expected if each.seed is not None)
    return {target: tuple(dict.fromkeys(numbers)) for target, numbers in found.items()}


def _judged(folder: Path) -> Judged:
    commits = folder / COMMITS if run_files.has(folder, COMMITS) else None
    return judge_file(folder / HISTORY, commits, same_run=True)


def _contents(folder: Path, names: Iterable[str], most: int) -> dict[str, bytes]:
    """Read those of some files that exist, each of at most `most` bytes."""
    read = {name: received.read(folder, name, most=most) for name in names}
    return {name: content for name, content in read.items() if content is not None}


def _store(entry: Path, expected: ExpectedVerdict, files: Mapping[str, bytes]) -> None:
    if os.path.lexists(entry):
        raise ConfigurationError(f"{entry} already exists: remove it to replace it")
    packed = {name: lzma.compress(content) for name, content in files.items()}
    size = sum(map(len, packed.values()))
    if size > _MOST_STORED:
        raise ConfigurationError(
            f"{expected.target}: {size:,} bytes, compressed, are too many for a corpus; record a shorter run"
        )
    try:
        entry.mkdir(parents=True)
    except OSError as error:
        raise ConfigurationError(f"{entry.parent}: cannot hold a corpus: {error.strerror}") from None
    for name, content in packed.items():
        with replacement(entry / f"{name}{COMPRESSED}", USER_MODE) as file:
            file.write(content)
    document = as_json(msgspec.to_builtins(expected), 1)
    replace_file(entry / EXPECTED, [document, "\n"], USER_MODE)


def _unpack(entry: Path, to: Path) -> None:
    """Decompress the history and the log of an entry, which may come from a stranger, up to a limit."""
    for name in RECORDED:
        packed = entry / f"{name}{COMPRESSED}"
        stored = received.read(entry, packed.name, most=_MOST_STORED)
        if stored is None:
            continue
        decompressor = lzma.LZMADecompressor(memlimit=_MOST_MEMORY)
        try:
            content = decompressor.decompress(stored, _MOST_JUDGED)
        except lzma.LZMAError as error:
            raise ConfigurationError(f"{packed}: cannot be decompressed: {error}") from None
        if not decompressor.eof:
            raise ConfigurationError(
                f"{packed}: is cut short, or too long: at most {_MOST_JUDGED:,} bytes are read"
            )
        (to / name).write_bytes(content)
