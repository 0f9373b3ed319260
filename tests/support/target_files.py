"""Target files for tests."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.spec import Target, load
from harness.spec.reading import load_text

SMALL = """\
name = "small"
expect = "valid"

[lock]
kind = "etcd"

[storage]
kind = "postgres"
fencing = "conditional-update"
"""
OWN_PROGRAM = """\
name = "own"
expect = "valid"
lock = { kind = "client" }
storage = { kind = "client", fencing = "service" }
client = { command = ["./client\\n"] }
"""
PAUSE = '[[faults]]\nkind = "pause"\ntarget = "holder"\n'
SUPERSEDED = f'{PAUSE}at = "before-write"\nuntil = "superseded"\n'
PARTITION = '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "2s"\n'


def target_text(
    *more: str,
    lock: str = 'kind = "etcd"',
    storage: str = 'kind = "postgres"\nfencing = "conditional-update"',
) -> str:
    """A target with these two sections, followed by others."""
    sections = (f"[lock]\n{lock}", f"[storage]\n{storage}", *more)
    return 'name = "t"\nexpect = "valid"\n' + "".join(f"{section}\n" for section in sections)


def read(text: str) -> Target:
    """Read the text of a target file, t.toml, which may be indented."""
    return load_text(textwrap.dedent(text), "t.toml")


def errors_in(text: str) -> list[str]:
    """The errors in the text of a target file, t.toml."""
    with pytest.raises(ConfigurationError) as caught:
        read(text)
    return [*caught.value.lines]


def error_in(text: str) -> str:
    """The only error in the text of a target file, t.toml."""
    (error,) = errors_in(text)
    return error


def errors_of(path: Any, *overrides: Any) -> list[str]:
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigurationError) as caught:
        load(path, overrides)
    return str(caught.value).replace(f"{Path(path).parent}/", "").splitlines()
