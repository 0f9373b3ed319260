"""A child that must not outlive its parent."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with_parent(sign: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel signal this process when the thread that started it ends; stopped ones too.

    Call it in the child. Linux only (prctl(2)).
    """
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, sign)
    if os.getppid() != parent:  # it died before the request was in place
        os.kill(os.getpid(), sign)


def adopt_orphans(*, adopt: bool = True) -> None:
    """Have what this process starts stay its offspring, also what its children start and leave.

    So a pause finds it, and so does whoever ends this process. Linux only (prctl(2)).
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")
