"""Requests to servers that speak HTTP, each over a new connection."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from harness.network.topology import Address

TIMEOUT = 2.0  # s; per request
MOST = 2**20  # bytes of one answer


@contextmanager
def answered(
    address: Address,
    path: str = "/",
    asked: dict[str, Any] | None = None,
    tls: ssl.SSLContext | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[http.client.HTTPResponse]:
    """Yield the answer to a GET, or to a POST of `asked`; OSError or HTTPException without one."""
    # Not httpx: this runs while servers start, and http.client is fast to import. It also
    # ignores HTTP_PROXY.
    if tls is None:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT)
    else:
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=TIMEOUT, context=tls)
    try:
        if asked is None:
            connection.request("GET", path, headers=headers)
        else:
            connection.request("POST", path, json.dumps(asked), {"Content-Type": "application/json"})
        yield connection.getresponse()
    finally:
        connection.close()


def json_answer(address: Address, path: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what is answered, as `answered`; also ValueError if that is not JSON."""
    with answered(address, path, asked) as said:
        answer: dict[str, Any] = json.loads(said.read(MOST))
    return answer


def header_of(address: Address, name: str) -> str:
    """Return a header of the answer to a GET; "" without it."""
    with answered(address) as said:
        return said.getheader(name) or ""
