"""`fencepost check-client`."""

from __future__ import annotations

from typing import Literal

import click

from harness.cli.options import ENGINE, OVERRIDES, with_default

SIDES = {
    "both": ("lock", "storage"),
    "lock": ("lock",),
    "storage": ("storage",),
    "queue": ("lock", "queue"),
}
"""What a program does, by the name of `--side`."""


@click.command(short_help="Check that a program follows the line protocol.")
@click.argument("command")
@with_default("--side", type=click.Choice([*SIDES]), default="both", help="What the program does.")
@with_default(
    "--lock",
    metavar="KIND",
    default="client",
    help="The lock service to start for it, such as etcd; client: none, it brings its own.",
)
@with_default(
    "--storage",
    metavar="KIND",
    default="client",
    help="The storage to start for it, such as postgres; client: none, it brings its own.",
)
@with_default(
    "--fencing",
    metavar="HOW",
    default="none",
    help="How the storage fences writes, such as conditional-update.",
)
@OVERRIDES
@ENGINE
def check_client(
    command: str,
    side: Literal["both", "lock", "storage", "queue"],
    lock: str,
    storage: str,
    fencing: str,
    overrides: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
) -> int:
    """Play every request of the line protocol against COMMAND, without faults, and say what does not fit.

    COMMAND is the program with its arguments, as one word: "python3 my_lock.py". A lease is 2s long, and
    each answer must come within 1s: --set lock.ttl=5s and --set workload.timeout=3s change that.
    """
    from harness.cli.check_client import check_program, target_of

    target = target_of(command, lock, storage, fencing, overrides, is_queue=side == "queue")
    return check_program(target, SIDES[side], engine)
