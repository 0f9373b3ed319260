"""What a reader should know of how a run was judged, whatever the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from checkers.evidence import Evidence


def notices(evidence: Evidence) -> Iterator[str]:
    """Say where the rules are sound and not complete: they accuse nobody wrongly, and may miss something."""
    fenced = evidence.by_resource("fence")
    if not fenced or not evidence.history.header.fenced:
        return
    where = _some(list(fenced))
    if evidence.log is None:
        yield (
            f"{where} was fenced without a write: what clients saw of it is judged by rules that"
            " accuse nobody wrongly but may miss a violation; the storage's own order of writes would decide"
        )
    else:
        yield (
            f"{where} was fenced without a write: what clients saw of it may miss a violation;"
            " the storage's own order of writes decides"
        )


def _some(resources: list[str]) -> str:
    more = len(resources) - 3
    return ", ".join(resources[:3]) + (f" and {more} more" if more > 0 else "")
