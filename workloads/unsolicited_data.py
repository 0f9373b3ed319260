"""Unsolicited data: input on a connection that has no request outstanding.

HTTP and Redis do not number their answers: the next bytes count as the answer to the last
request. So a client never sends a request on a connection that already has something to read.
A connection that the server closed looks the same.
"""

from __future__ import annotations

import select
import socket

GREETING = 0.002  # seconds to wait on a new connection for a server that sends data first


def has_input(connection: int, within: float = 0) -> bool:
    """Does a file descriptor have data or end-of-file to read, now or `within` seconds?"""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(within * 1000))


def why_unusable(opened: socket.socket) -> str | None:
    """Return why a new connection cannot carry a request; None if it can."""
    if not has_input(opened.fileno(), GREETING):
        return None
    try:
        said = opened.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError as error:
        return str(error)
    return "the server sent data before any request" if said else "the server closed the connection"
