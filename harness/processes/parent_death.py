"""Child processes that must not outlive their parent."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


def die_with_parent(sign: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel signal this process, even a stopped one, when the thread that started it ends.

    Call it in the child. Linux only (prctl(2)).
    """
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, sign)
    if os.getppid() != parent:  # it died before the request was in place
        os.kill(os.getpid(), sign)


def adopt_orphans(*, adopt: bool = True) -> bool:
    """Let this process adopt the orphans of its descendants; return whether it did so already.

    Then a pause, and the end of this process, include them. Linux only (prctl(2)).
    """
    before = ctypes.c_int()
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    _prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))
    return bool(before.value)


def _prctl(option: int, value: Any) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")
