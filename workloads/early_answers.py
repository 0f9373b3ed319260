"""Answers that arrive before their request: what waits on a connection on which nothing was asked.

The wires of HTTP and Redis give an answer no number: whatever comes next is taken for the answer
to the request before it. So a connection that has something to read before a request is sent is
not used for it. That is also how one looks that its server has closed.
"""

from __future__ import annotations

import select
import socket

GREETING = 0.002  # seconds in which a server that speaks unasked does so on a new connection


def something_waits(connection: int, within: float = 0) -> bool:
    """Is there anything to read on a file descriptor, the end included, now or within so many seconds?"""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(within * 1000))


def unfit_for_a_request(opened: socket.socket) -> str | None:
    """Say why a new connection cannot be used for a request, or None if nothing speaks against it."""
    if not something_waits(opened.fileno(), GREETING):
        return None
    try:
        said = opened.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError as error:
        return str(error)
    return "the server answered before it was asked" if said else "the server closed the connection"
