"""A plain client of a server of DynamoDB or S3, to see and to change what clients of runs do not."""

from __future__ import annotations

from typing import Any

import boto3

from tests.support.attached_servers import PASSWORD


def aws_client(service: str, at: str) -> Any:
    """Make a client of a server at host:port."""
    return boto3.client(
        service,
        endpoint_url=f"http://{at}",
        region_name="us-east-1",
        aws_access_key_id="tester",
        aws_secret_access_key=PASSWORD,
    )
