"""Requests to servers that speak HTTP, each over a new connection."""

from __future__ import annotations

import http.client
import json
from typing import Any

from harness.network.topology import Address

TIMEOUT = 2.0  # s; per request
MOST = 2**20  # bytes of one answer


def json_answer(address: Address, path: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the answer to a GET, or to a POST of `asked`."""
    # Not httpx: this runs while servers start, and http.client is fast to import. It also
    # ignores HTTP_PROXY.
    connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT)
    try:
        if asked is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, json.dumps(asked), {"Content-Type": "application/json"})
        answer: dict[str, Any] = json.loads(connection.getresponse().read(MOST))
    finally:
        connection.close()
    return answer


def header_of(address: Address, name: str) -> str:
    """Return a header of the answer to a GET; "" without it."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/")
        return connection.getresponse().getheader(name) or ""
    finally:
        connection.close()
