"""The installed command, started as a shell does: in a separate process group."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import Popen

FENCEPOST = Path(sys.executable).with_name("fencepost")


def start(*arguments: str, cwd: Path) -> Popen[str]:
    return subprocess.Popen(
        [FENCEPOST, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )
