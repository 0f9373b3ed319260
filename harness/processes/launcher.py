"""Becomes a server that dies with the harness: `tether.py SIGNAL PARENT USER PROGRAM ARGUMENT…`.

Run as a program of its own, because the request to the kernel must be made in the child, and
a `preexec_fn` may deadlock in a harness that has threads. It asks for SIGNAL at the death of
the thread that started it, takes on the numeric USER (or stays who it is, for "-"), and then
is PROGRAM: no further process remains.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Follow the command line."""
    death_signal, parent, user, *command = sys.argv[1:]
    if user != "-":
        become(int(user))
    # After the change of user, which would clear it.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != int(parent):  # it died before it could be asked for
        sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def become(user: int) -> None:
    """Give up the rights of root for those of a user without any."""
    try:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    except OSError as error:
        sys.exit(f"cannot become user {user}: {error.strerror}")


if __name__ == "__main__":
    main()
