"""The URL of the user's own service."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, WithJsonSchema

URL_PATTERN = r"^http://[^\s/?#@]+(/[^\s?#]*)?$"
EXAMPLE = "http://127.0.0.1:8420"


def _leads_to_a_service(text: str) -> str:
    """Allow only an address and a path prefix: anything else would be ignored."""
    parts = urlsplit(text)
    try:
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        has_port = False
    known = f"http://{parts.netloc}{parts.path}"
    if not (
        has_port
        and parts.hostname
        and "@" not in parts.netloc
        and text == known
        and text.isascii()
        and " " not in text
    ):
        raise ValueError(f'must be such as "{EXAMPLE}", with a path if the service has one')
    return text


Url = Annotated[
    str,
    AfterValidator(_leads_to_a_service),
    WithJsonSchema({"type": "string", "pattern": URL_PATTERN, "examples": [EXAMPLE]}),
]


def endpoint(url: str) -> str:
    """Return host, port and path, without the scheme."""
    return url.removeprefix("http://")
