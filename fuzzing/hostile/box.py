"""A place for one attack: what the user names, what lies beside it, and what has changed afterwards.

work      the current folder, with what a stranger handed over in `given`
outside   files that nobody named, with a secret
home      the user's, and the folders of XDG
"""

from __future__ import annotations

import fnmatch
import hashlib
import lzma
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fuzzing.hostile.subjects import SUBJECTS
from fuzzing.hostile.words import Words, write

SECRET = "s3cr3t-7f3a91"  # noqa: S105 (of a file that nobody named)
_READ = 1 << 20  # bytes; larger files are compared by their size and time
_SECRET_WORDS = (
    "value", "newer value", "evidence", "folder", "story", "summary", "message", "log of a run", "reason",
    "target source", "comment in the campaign", "value of Jepsen", "kernel",
)  # fmt: skip
_OUR_OWN = ("home/*/fencepost", "home/*/fencepost/*", "tmp/*", ".said")
"""What every command may write: the cache, the notes, temporary files."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, as it must stay."""

    mode: int
    inode: int
    size: int
    time: int  # ns
    content: str


def build(box: Path, subject: str, words: Words, named: str) -> Path:
    """Fill an empty box, and return the path of what the stranger handed over."""
    for folder in ("home/state", "home/cache", "home/config", "home/data", "outside/folder", "tmp", "work"):
        (box / folder).mkdir(parents=True, mode=0o700)
    for canary in (
        "home/.bashrc",
        "home/config/x",
        "outside/canary",
        "outside/folder/canary",
        "work/notes.txt",
    ):
        write(box / canary, f"{SECRET}\n" if canary.startswith("outside") else f"{canary}\n")
    secret = Words(dict.fromkeys(_SECRET_WORDS, SECRET))
    SUBJECTS[subject](secret, box / "outside" / named)
    given = box / "work" / named
    SUBJECTS[subject](words, given)
    if given.is_dir():
        with suppress(OSError):  # a word may have made a folder of it
            write(given / "notes.txt", "mine\n")
    return given


def environment(box: Path) -> Mapping[str, str]:
    """Return the variables that lead everything into the box."""
    home = box / "home"
    folders = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("state", "cache", "config", "data")}
    return {"HOME": str(home), "TMPDIR": str(box / "tmp"), "DOCKER_HOST": "tcp://127.0.0.1:1", **folders}


def snapshot(box: Path) -> dict[str, Entry]:
    """Describe everything in a box, by path; no link is followed."""
    found = {}
    for folder, folders, files in os.walk(box):
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118 (a thousand times faster)
            with suppress(OSError):  # deeper than a path may be long
                found[os.path.relpath(path, box)] = _entry(path)
    return found


def _entry(path: str) -> Entry:
    status = os.lstat(path)
    is_folder = stat.S_ISDIR(status.st_mode)
    return Entry(
        mode=status.st_mode,
        inode=status.st_ino,
        size=0 if is_folder else status.st_size,
        time=0 if is_folder else status.st_mtime_ns,
        content=_content(path, status),
    )


def _content(path: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)  # noqa: PTH115 (as above)
    if stat.S_ISREG(status.st_mode) and status.st_size <= _READ:
        with open(path, "rb") as file:  # noqa: PTH123 (as above)
            return hashlib.sha256(file.read()).hexdigest()
    return ""


def changed(
    before: Mapping[str, Entry], after: Mapping[str, Entry], writable: Sequence[str]
) -> Iterator[str]:
    """Yield the paths that are new, gone or different, and that nothing may have written."""
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path) and not _may_change(path, writable):
            how = "is new" if path not in before else "is gone" if path not in after else "was changed"
            yield f"{path} {how}"


def _may_change(path: str, writable: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in (*_OUR_OWN, *writable))


def leaked(box: Path, before: Mapping[str, Entry], after: Mapping[str, Entry]) -> Iterator[str]:
    """Yield the new files that contain the secret of files that nobody named."""
    for path, entry in after.items():
        if before.get(path) != entry and stat.S_ISREG(entry.mode) and entry.size <= _READ and path != ".said":
            content = (box / path).read_bytes()
            if path.endswith(".xz"):
                content = lzma.decompress(content)
            if SECRET.encode() in content:
                yield path
