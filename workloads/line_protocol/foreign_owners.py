"""What another owner can do to a lock that is held: it must neither free nor renew it."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.line_protocol.disturbances import SHORT_WAIT
from workloads.line_protocol.messages import RenewedEvent
from workloads.line_protocol.played import Check, asked, one_of
from workloads.line_protocol.program_client import ProgramClient


def foreign_release(other: ProgramClient, ttl: int) -> Iterator[Check]:
    """Release r0, which 0-5 holds for `ttl` (ms), as an owner of another program that never had it."""
    renewed: list[RenewedEvent] = []
    other.renewed = renewed.append
    released = asked(other, "release", resource="r0", owner="1-7")
    yield one_of("release by another owner", released, "failed", "unsupported")
    half = max(SHORT_WAIT, ttl // 2)  # a program that renews does so at least three times per TTL
    after = asked(other, "acquire", resource="r0", owner="1-8", wait_ms=half, within=1 + half / 1000)
    yield one_of("acquire of a held lock after the release by another owner", after, "failed")
    asked(other, "revoke", resource="r0", owner="1-8")
    if renewed:
        found = f"by {renewed[0].owner} of r0, which 0-5 holds: only its holder renews a lock"
        yield Check(request="renewed", fits=False, found=found)


def release_of_another_hold(holder: ProgramClient, other: ProgramClient) -> Iterator[Check]:
    """Release r0, which 0-6 holds, as an owner of the same program that never had it."""
    released = asked(holder, "release", resource="r0", owner="0-7")
    yield one_of("release by another owner of the same program", released, "failed", "unsupported")
    after = asked(other, "acquire", resource="r0", owner="1-9", wait_ms=SHORT_WAIT)
    yield one_of("acquire of a held lock after the release by that owner", after, "failed")
    asked(other, "revoke", resource="r0", owner="1-9")
