"""What is odd about a target that is valid: a green run of it would mean little."""

from __future__ import annotations

from collections.abc import Iterator

from harness.spec.models import Target


def warnings(target: Target) -> Iterator[str]:
    """Say why a run of this target shows little about a fence."""
    if target.storage.fencing == "none" and not target.expected and not target.may:
        yield (
            'storage.fencing is "none" and the target expects "valid": nothing compares tokens, so a stale'
            ' write is accepted; give expect = ["stale-write"], or a fence'
        )
    if not target.faults:
        yield (
            "there is no [[faults]]: nothing makes a write stale, so no fence is challenged; add"
            ' {kind = "pause", target = "holder", hazards = "all"}'
        )
