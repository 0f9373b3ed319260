"""A member of Hazelcast, asked as its clients do: log in, then have the CP subsystem commit something.

A message of the Open Binary Client Protocol is a list of frames; a frame is its length, its flags and
its content, little-endian. See the codecs of hazelcast-client-protocol for the fields.
"""

from __future__ import annotations

import socket
import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from harness.network.topology import Address

TIMEOUT = 2.0  # s; per request
MOST = 2**16  # bytes of one frame
GREETING = b"CP2"
WRONG_PROTOCOL = b"HZX"  # its answer to any other greeting
CLUSTER = "dev"  # Hazelcast's default
HEAD = struct.Struct("<IH")
WHOLE, FINAL, BEGIN, END, NULL = 0xC000, 0x2000, 0x1000, 0x0800, 0x0400  # flags
LOG_IN, LOGGED_IN, CREATE_GROUP, CREATED_GROUP = 0x000100, 0x000101, 0x1E0100, 0x1E0101
HAS_UUID, SERIALIZATION = 0, 1
STATUS_AT = 13  # of LOGGED_IN: after type, correlation id and number of backups


def is_usable(address: Address) -> bool:
    """Does the CP subsystem commit requests? It does once most of its members have found each other."""
    try:
        with logged_in(address) as (connection, answer, _):
            connection.sendall(_request(CREATE_GROUP) + _text("fencepost", FINAL))  # or find it
            return _type_of(_frames(answer)[0]) == CREATED_GROUP
    except OSError:
        return False


def version(address: Address) -> str:
    """Return such as "5.3.8"; OSError if it does not answer."""
    with logged_in(address) as (_, _, said):
        return said[-1].decode()


@contextmanager
def logged_in(address: Address) -> Iterator[tuple[socket.socket, BinaryIO, list[bytes]]]:
    """Yield a connection with its answers, and the answer to the login."""
    with socket.create_connection((address.host, address.port), TIMEOUT) as connection:
        client = struct.pack("<b16sb", HAS_UUID, uuid.uuid4().bytes, SERIALIZATION)
        no_password, no_labels = 2 * _frame(b"", NULL), _frame(b"", BEGIN) + _frame(b"", END | FINAL)
        login = _request(LOG_IN, client) + _text(CLUSTER) + no_password + 3 * _text("fencepost") + no_labels
        connection.sendall(GREETING + login)
        with connection.makefile("rb") as answer:
            said = _frames(answer)
            if _type_of(said[0]) != LOGGED_IN or said[0][STATUS_AT]:
                raise ConnectionError(f"Hazelcast at {address} refused the login: {said[0]!r}")
            yield connection, answer, said


def _request(kind: int, fields: bytes = b"") -> bytes:
    return _frame(struct.pack("<iqi", kind, 1, -1) + fields, WHOLE)


def _text(text: str, flags: int = 0) -> bytes:
    return _frame(text.encode(), flags)


def _frame(content: bytes, flags: int) -> bytes:
    return HEAD.pack(HEAD.size + len(content), flags) + content


def _frames(answer: BinaryIO) -> list[bytes]:
    """Read the frames of one message; ConnectionError if it is cut off."""
    frames = []
    flags = 0
    while not flags & FINAL:
        length, flags = HEAD.unpack(_exactly(answer, HEAD.size))
        frames.append(_exactly(answer, min(length, MOST) - HEAD.size))
    return frames


def _exactly(answer: BinaryIO, size: int) -> bytes:
    content = answer.read(max(size, 0))
    if len(content) < size:
        raise ConnectionError("the connection was closed within an answer")
    return content


def _type_of(first: bytes) -> int:
    return int.from_bytes(first[:4], "little")
