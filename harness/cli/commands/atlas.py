"""`fencepost atlas`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import as_seconds, folder_option, format_option, with_default
from harness.cli.output import text_stream

OPERATIONS = click.Choice(["create", "replace", "delete"])


@click.command(short_help="Race for objects on your S3 server: which conditional writes are atomic?")
@click.argument("endpoint")
@click.option("--bucket", metavar="NAME", required=True, help="A bucket that exists.")
@with_default("--region", default="us-east-1", help="The region to sign requests for.")
@click.option(
    "--user", metavar="ID", help="The access key id. Default: one that servers without accounts take."
)
@click.option("--password-env", metavar="VARIABLE", help="The environment variable with its secret key.")
@with_default(
    "--keys",
    type=click.IntRange(1, 100_000),
    default=200,
    help="Objects to race for, of each operation in each mode.",
)
@with_default("--clients", type=click.IntRange(2, 256), default=16, help="Clients that race for one object.")
@with_default("--size", type=click.IntRange(256, 2**24), default=1024, help="Bytes of an object.")
@with_default(
    "--timeout",
    metavar="DURATION",
    default="10s",
    callback=as_seconds,
    help="How long to wait for an answer.",
)
@click.option("--only", type=OPERATIONS, multiple=True, help="Race only this operation (repeatable).")
@folder_option("atlas", "The folder for the folders with the histories of races that went wrong.", "folder")
@format_option("all results on stdout, everything else on stderr.")
def atlas(
    endpoint: str,
    bucket: str,
    region: str,
    user: str | None,
    password_env: str | None,
    timeout: float,
    only: tuple[str, ...],
    folder: Path,
    output: str,
    **races: Any,
) -> int:
    """Race clients for objects on the S3 server at ENDPOINT, and count the objects that several of them won.

    ENDPOINT is such as http://127.0.0.1:9000. The clients create objects (If-None-Match), replace them
    (If-Match), and delete them while another client replaces them (If-Match). It works below one new
    prefix, and removes everything afterwards.
    """
    from harness.atlas.race import ConditionalRequest
    from harness.atlas.survey import Survey
    from harness.atlas.wire import account, server_at
    from harness.cli.draw_atlas import draw_atlas

    server = server_at(endpoint, bucket=bucket, region=region, timeout=timeout, **account(user, password_env))
    operations = [each for each in ConditionalRequest if not only or each in only]
    survey = Survey(server=server, operations=operations, **races)
    return draw_atlas(survey, folder, text=text_stream(output), as_json=output == "json")
