"""The API server of Kubernetes. Ours makes its certificate itself when it starts."""

from __future__ import annotations

import functools
import http.client
import json
import ssl
from contextlib import AbstractContextManager

from harness.network.http_requests import MOST, answered
from harness.network.topology import Address

OK = 200
TOKEN = "only-for-tests"  # noqa: S105 - in our image
REFUSES_PLAIN_TEXT = b"HTTP/1.0 400 Bad Request"  # its answer to a request without TLS


def is_usable(address: Address) -> bool:
    """Does it serve requests, with its etcd behind it? OSError or HTTPException if it does not answer."""
    with _answered(address, "/readyz") as said:
        return said.status == OK


def version(address: Address) -> str:
    """Return such as "1.34.4"; OSError, HTTPException, ValueError or KeyError if it does not say."""
    with _answered(address, "/version") as said:
        return str(json.loads(said.read(MOST))["gitVersion"]).removeprefix("v")


def _answered(address: Address, path: str) -> AbstractContextManager[http.client.HTTPResponse]:
    return answered(address, path, tls=_any_certificate(), headers={"Authorization": f"Bearer {TOKEN}"})


@functools.cache
def _any_certificate() -> ssl.SSLContext:
    """Return the settings of a connection to a server that signs its certificate itself."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
