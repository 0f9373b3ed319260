"""Surprises in the place of a file or a folder: links, pipes, devices, and files that never end."""

from __future__ import annotations

import gzip
import lzma
import os
import re
import shutil
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePath

from checkers.text import limits

Surprise = Callable[[Path, Path], None]
"""Puts itself in the place of a path, which may exist; the other path is its counterpart outside."""
TIB = 1 << 40
_NUMBER = re.compile(rb"(?<=[\s:\[])-?\d+(?=[\s,\]})])")
_ENOUGH = 1_500  # files


def _cleared(place: Path) -> Path:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _link(to: str) -> Surprise:
    return lambda place, _outside: _cleared(place).symlink_to(to)


def _to_counterpart(place: Path, outside: Path) -> None:
    _cleared(place).symlink_to(outside)


def _to_counterpart_by_steps(place: Path, outside: Path) -> None:
    _cleared(place).symlink_to(os.path.relpath(outside, place.parent))


def _to_canary(place: Path, outside: Path) -> None:
    _cleared(place).symlink_to(_canary(outside))


def _to_new_file(place: Path, outside: Path) -> None:
    _cleared(place).symlink_to(_canary(outside).with_name("planted"))


def _to_folder(place: Path, outside: Path) -> None:
    _cleared(place).symlink_to(_canary(outside).parent / "folder")


def _to_itself(place: Path, _outside: Path) -> None:
    _cleared(place).symlink_to(place.name)


def _circle(place: Path, _outside: Path) -> None:
    other = place.with_name(f"{place.name}-back")
    _cleared(place).symlink_to(other.name)
    _cleared(other).symlink_to(place.name)


def _chain(place: Path, outside: Path) -> None:
    first = place.with_name(f"{place.name}-first")
    _cleared(first).symlink_to(outside)
    _cleared(place).symlink_to(first.name)


def _parent_is_a_link(place: Path, outside: Path) -> None:
    if _has_fixed_parent(place):
        _to_counterpart(place, outside)
    else:
        _to_counterpart(place.parent, outside.parent)


def _has_fixed_parent(place: PurePath) -> bool:
    """Is it in the folder that the user named, or in one that every night has?"""
    return place.parent.name in {"", "given", "runs"}


def _hard_link(place: Path, outside: Path) -> None:
    with suppress(OSError):
        _cleared(place).hardlink_to(_canary(outside))


def _pipe(place: Path, _outside: Path) -> None:
    os.mkfifo(_cleared(place))


def _socket(place: Path, _outside: Path) -> None:
    _cleared(place)
    here = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{here}/{place.name}")  # a path of at most 108 bytes
    os.close(here)


def _device(major: int, minor: int, kind: int = stat.S_IFCHR) -> Surprise:
    def put(place: Path, _outside: Path) -> None:
        with suppress(PermissionError):  # only root may, and not in every container
            os.mknod(_cleared(place), kind | 0o600, os.makedev(major, minor))

    return put


def _sparse(place: Path, _outside: Path) -> None:
    with _cleared(place).open("wb") as file, suppress(OSError):  # a file system with smaller files
        file.truncate(TIB)


def _zeros(place: Path, _outside: Path) -> None:
    with _cleared(place).open("wb") as file:
        file.truncate(100 << 20)


def _holes_up_to(limit: int) -> Surprise:
    """What is there, and then holes, in a file that is still small enough to be read."""

    def put(place: Path, _outside: Path) -> None:
        content = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
        with _cleared(place).open("wb") as file:
            file.write(content)
            file.truncate(limit)

    return put


def _holder(place: Path, _outside: Path) -> None:
    """A folder with files in the place of a file."""
    _cleared(place).mkdir()
    (place / "x.jsonl").write_text("{}\n")


def _file(place: Path, _outside: Path) -> None:
    _cleared(place).write_text("{}\n")


def _empty(place: Path, _outside: Path) -> None:
    _cleared(place).write_bytes(b"")


def _binary(place: Path, _outside: Path) -> None:
    _cleared(place).write_bytes(bytes(range(256)) * 64)


def _deep_json(place: Path, _outside: Path) -> None:
    _cleared(place).write_bytes(b'{"a":' * 100_000)


def _long_line(place: Path, _outside: Path) -> None:
    _cleared(place).write_bytes(b'{"time":1,"value":"' + b"x" * (8 << 20) + b'"}\n')


def _number(number: bytes) -> Surprise:
    """Any number of what is there becomes this one."""

    def put(place: Path, _outside: Path) -> None:
        content = place.read_bytes() if place.is_file() and not place.is_symlink() else b"[1]"
        _cleared(place).write_bytes(_NUMBER.sub(lambda _: number, content, count=1))

    return put


def _xz_bomb(place: Path, _outside: Path) -> None:
    _cleared(place).write_bytes(_compressed_zeros())


def _gzip_bomb(place: Path, _outside: Path) -> None:
    _cleared(place).write_bytes(_gzipped_zeros())


@cache
def _gzipped_zeros() -> bytes:
    return gzip.compress(bytes(300 << 20), compresslevel=1)


@cache
def _compressed_zeros() -> bytes:
    packer = lzma.LZMACompressor(preset=0)
    zeros = bytes(1 << 24)
    return b"".join([*(packer.compress(zeros) for _ in range(17)), packer.flush()])


def _many(place: Path, _outside: Path) -> None:
    _cleared(place).mkdir()
    for number in range(_ENOUGH):
        (place / f"{number}.jsonl").touch()


def _deep(place: Path, _outside: Path) -> None:
    _cleared(place).mkdir()
    here = os.open(place, os.O_RDONLY)
    for _ in range(300):  # deeper than a path may be long
        os.mkdir("d" * 20, dir_fd=here)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def _forbidden(place: Path, _outside: Path) -> None:
    if place.is_symlink() or not place.exists():
        _empty(place, place)
    place.chmod(0)


def _gone(place: Path, _outside: Path) -> None:
    _cleared(place)


def _canary(outside: Path) -> Path:
    """The file outside that must stay as it is."""
    return next(parent for parent in outside.parents if parent.name == "outside") / "canary"


SURPRISES: dict[str, Surprise] = {
    "a link out": _to_counterpart,
    "a link out by ..": _to_counterpart_by_steps,
    "a link to a canary": _to_canary,
    "a link to a new file": _to_new_file,
    "a link to a folder": _to_folder,
    "a link to itself": _to_itself,
    "a circle of links": _circle,
    "a chain of links": _chain,
    "a folder on the way is a link": _parent_is_a_link,
    "a link to /": _link("/"),
    "a link to ..": _link(".."),
    "a link to .": _link("."),
    "a link to /dev/zero": _link("/dev/zero"),
    "a link to /dev/full": _link("/dev/full"),
    "a link to /dev/tty": _link("/dev/tty"),
    "a link to stdin": _link("/dev/stdin"),
    "a link to /proc/self/mem": _link("/proc/self/mem"),
    "a link to /proc/self/environ": _link("/proc/self/environ"),
    "a link to an impossible name": _link("x" * 300),
    "a hard link": _hard_link,
    "a pipe": _pipe,
    "a socket": _socket,
    "/dev/zero": _device(1, 5),
    "/dev/tty": _device(5, 0),
    "a block device": _device(7, 200, stat.S_IFBLK),
    "a sparse file": _sparse,
    "zeros": _zeros,
    "holes up to 64 KiB": _holes_up_to(64 << 10),
    "holes up to 16 MiB": _holes_up_to(limits.DOCUMENT),
    "holes up to 256 MiB": _holes_up_to(limits.NIGHT),
    "a folder": _holder,
    "a file": _file,
    "nothing in it": _empty,
    "binary": _binary,
    "deep JSON": _deep_json,
    "a long line": _long_line,
    "a million digits": _number(b"9" * 1_000_000),
    "a million decimals": _number(b"1." + b"9" * 1_000_000),
    "an exponent of a million digits": _number(b"1e" + b"9" * 1_000_000),
    "a bomb of xz": _xz_bomb,
    "a bomb of gzip": _gzip_bomb,
    "many files": _many,
    "a deep folder": _deep,
    "forbidden": _forbidden,
    "gone": _gone,
}
"""All of them, by name."""


def replaced(place: str, surprise: str) -> PurePath:
    """Return the place of a surprise, below the folder that the user named."""
    path = PurePath(place)
    is_above = SURPRISES[surprise] is _parent_is_a_link and not _has_fixed_parent(path)
    return path.parent if is_above else path


LINKS = frozenset(name for name in SURPRISES if "link" in name)
PATHS = (
    "../../outside/planted", "../outside/planted", "{outside}/planted", "{outside}/canary", "{outside}/folder",
    "..", ".", "../..", "/", "a/b/c/d", "./../../outside/folder/planted", "x" * 300, "x/" * 2_000, "a\0b",
    "~", "$HOME", "-rf", "--help", "/dev/stdin", "/dev/zero", "/proc/self/mem", "/proc/self/fd/0", "//host/share/x",
    "..\\..\\outside", "%2e%2e/outside", "file://{outside}/canary", "\udcff", "runs/../../../outside/planted",
    "runs/../../outside/folder", "{outside}/../outside/planted", "nul", "notes.txt", "latest", "CON ", " ", "", "\n",
)  # fmt: skip
"""Names that lead somewhere else, in the place of a text."""
