"""Child processes that must not outlive their parent: the kernel signals each when its parent dies.

A Python process requests that with `die_with_parent`. For any other program, this file is a wrapper:
`die_with_parent.py SIGNAL PARENT USER PROGRAM ARGUMENT…`. The request must be made in the child, and a
`preexec_fn` may deadlock in a process with threads. The wrapper changes to the numeric USER ("-": no
change), and replaces itself with PROGRAM. It imports nothing of ours, so that it starts fast.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterable

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


def wrapped(command: Iterable[str], *, sign: int = signal.SIGKILL, user: int | None = None) -> list[str]:
    """Return a command that gets a signal (0: none) when its thread ends; as `user` if we are root."""
    who = "-" if user is None else str(user)
    return [sys.executable, "-I", "-S", __file__, str(int(sign)), str(os.getpid()), who, *command]


def adopt_orphans(*, adopt: bool = True) -> bool:
    """Let this process adopt the orphans of its descendants; return whether it did so already.

    Then a pause, and the end of this process, include them. Linux only (prctl(2)).
    """
    before = ctypes.c_int()
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    _prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))
    return bool(before.value)


def _prctl(option: int, value: object) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


def _become(user: int) -> None:
    try:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    except OSError as error:
        sys.exit(f"cannot become user {user}: {error.strerror}")


def main() -> None:
    """Run the command line."""
    sign, parent, user, *command = sys.argv[1:]
    if user != "-":
        _become(int(user))
    _prctl(_PR_SET_PDEATHSIG, int(sign))  # after the change of user, which clears the request
    if os.getppid() != int(parent):  # it died before the request was in place
        sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - our own command line
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
