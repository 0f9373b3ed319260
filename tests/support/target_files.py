"""Target files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigurationError
from harness.spec import load

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


PARTITION = '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "2s"\n'


def errors_of(path: Any, *overrides: Any) -> list[str]:
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigurationError) as caught:
        load(path, overrides)
    return str(caught.value).replace(f"{Path(path).parent}/", "").splitlines()
