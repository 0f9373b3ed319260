"""What another owner can do to a lock that is held: it must neither free nor renew it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from workloads.line_protocol.disturbances import SHORT_WAIT
from workloads.line_protocol.messages import RenewedEvent
from workloads.line_protocol.played import Check, asked, one_of
from workloads.line_protocol.program_client import ProgramClient


def foreign_release(other: ProgramClient, ttl: int) -> Iterator[Check]:
    """Release r0, which 0-5 holds for `ttl` (ms), as an owner of another program that never had it."""
    began = time.monotonic_ns()
    heard: list[RenewedEvent] = []
    other.renewed = heard.append
    released = asked(other, "release", resource="r0", owner="1-7")
    yield one_of("release by another owner", released, "failed", "unsupported")
    half = max(SHORT_WAIT, ttl // 2)  # a program that renews does so at least three times per TTL
    after = asked(other, "acquire", resource="r0", owner="1-8", wait_ms=half, within=1 + half / 1000)
    yield one_of("acquire of a held lock after the release by another owner", after, "failed")
    asked(other, "revoke", resource="r0", owner="1-8")
    renewed = [each for each in heard if each.called_ns >= began]  # not the last one of an earlier hold
    if renewed:
        found = f"by {renewed[0].owner} of r0, which 0-5 holds: only its holder renews a lock"
        yield Check(request="renewed", fits=False, found=found)
