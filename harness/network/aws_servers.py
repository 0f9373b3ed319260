"""DynamoDB Local and servers of S3: do they answer, and what do they say they are?

They answer nothing more to a request without a signature.
"""

from __future__ import annotations

import http.client

from harness.network.http_requests import header_of
from harness.network.topology import Address


def is_usable(address: Address) -> bool:
    """Does it speak HTTP, and name itself?"""
    try:
        return bool(header_of(address, "Server"))
    except (OSError, http.client.HTTPException, ValueError):
        return False


def dynamodb_version(address: Address) -> str:
    """Return such as "DynamoDB Local on Jetty(12.0.14)": it does not report its version."""
    return f"DynamoDB Local on {_server(address)}"


def s3_version(address: Address) -> str:
    """Return such as "S3 on AmazonS3", as gofakes3 calls itself: it does not report its version."""
    return f"S3 on {_server(address)}"


def _server(address: Address) -> str:
    return header_of(address, "Server") or "an unnamed server"
