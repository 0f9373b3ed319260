"""Clients of AWS's services through boto3: a call is one request, and nothing of the user's is read.

boto3 would send a request again that got no answer, up to three times by default. It reads the
user's profiles, and goes through the proxies of the environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError

from workloads.client import NotApplied, Unknown
from workloads.settings import Settings

REGION = "us-east-1"
SERVER_ERROR = 500  # from this HTTP status on, the request may or may not have taken effect

_NO_ACCOUNT = "fencepost"  # keys that servers without accounts take
_OWN_SETTINGS = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
"""Ignore the user's profiles, in files and in the environment."""


class Refused(NotApplied):
    """The service refused the request; `code` is its own word for the reason."""

    def __init__(self, error: ClientError) -> None:
        super().__init__(str(error))
        self.code = str(error.response["Error"]["Code"])


class SentNotice:
    """Calls back once a request of one operation has been sent, before its answer."""

    def __init__(self, client: Any, operation: str) -> None:
        """`operation` is such as "dynamodb.UpdateItem"."""
        self._sent: Callable[[], None] | None = None
        client.meta.events.register(f"before-send.{operation}", self._watch)

    def expect(self, sent: Callable[[], None] | None) -> None:
        """Call `sent` once the next request has been sent, if given."""
        self._sent = sent

    def _watch(self, request: Any, **_more: Any) -> None:
        sent, self._sent = self._sent, None
        if sent is not None:
            body = request.body
            request.body = _NotifyingBody(body.read() if hasattr(body, "read") else body, sent)


class _NotifyingBody:
    """A request body that calls back once all of it has been handed to the kernel.

    botocore has an event before it sends a request, but none after. It reads a file-like
    body again once it has sent the first part.
    """

    def __init__(self, body: bytes, sent: Callable[[], None]) -> None:
        self._body = body
        self._sent = sent

    def read(self, _size: int = -1) -> bytes:
        body, self._body = self._body, b""
        if not body:
            self._sent()
        return body


def connect(
    service: str, settings: Settings, *, region: str = REGION, attempts: int = 1, **options: Any
) -> Any:
    """Make a client of a service, which sends a request up to `attempts` times; `options` are botocore's."""
    session = boto3.session.Session(
        botocore_session=botocore.session.Session(_OWN_SETTINGS),
        region_name=region,
        aws_access_key_id=settings.user or _NO_ACCOUNT,
        aws_secret_access_key=settings.password or _NO_ACCOUNT,
    )
    return session.client(
        service,
        endpoint_url=f"http://{settings.endpoints[0]}",
        config=Config(
            retries={"mode": "standard", "total_max_attempts": attempts},
            connect_timeout=settings.timeout,
            read_timeout=settings.timeout,
            proxies={},  # also ignores those from the environment
            **options,
        ),
    )


def call(request: Callable[..., dict[str, Any]], **parameters: Any) -> dict[str, Any]:
    """Send a request and return its answer; Refused, NotApplied if nothing was sent, or Unknown."""
    try:
        return request(**parameters)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] >= SERVER_ERROR:
            raise Unknown(str(error)) from error
        raise Refused(error) from error
    except (ConnectTimeoutError, EndpointConnectionError) as error:  # nothing was sent
        raise NotApplied(f"not connected: {error}") from error
    except BotoCoreError as error:
        raise Unknown(str(error)) from error
