"""Launches a server that dies with the harness: `launcher.py SIGNAL PARENT USER PROGRAM ARGUMENT…`.

It is a separate program, because the request to the kernel must be made in the child, and a
`preexec_fn` may deadlock in a process with threads. It requests SIGNAL for the death of the
thread that started it, changes to the numeric USER ("-": no change), and then replaces itself
with PROGRAM.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Run the command line."""
    death_signal, parent, user, *command = sys.argv[1:]
    if user != "-":
        become(int(user))
    # After the change of user, which clears the request.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
    if os.getppid() != int(parent):  # it died before the request was in place
        sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - our own command line
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def become(user: int) -> None:
    """Change from root to an unprivileged user."""
    try:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    except OSError as error:
        sys.exit(f"cannot become user {user}: {error.strerror}")


if __name__ == "__main__":
    main()
