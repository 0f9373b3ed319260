"""The shipped targets: which have a planted bug, and which are the correct twins."""

from __future__ import annotations

from pathlib import Path

from harness.spec.reading import shipped, zoo

_RIGHT = ("{bug}-twin", "{bug}-fence-on-acquire")
_UNFENCED = "-unfenced"


def correct_twin(target: str) -> Path | None:
    """The correct twin of a shipped target; None if it has none."""
    known = shipped() | zoo()
    names = [name.format(bug=target) for name in _RIGHT]
    if target.endswith(_UNFENCED):
        names.append(target.removesuffix(_UNFENCED))
    return next((known[name] for name in names if name in known), None)


def is_planted(target: str) -> bool:
    """Was its bug planted: is it an exhibit of the zoo, or a storage without a fence?"""
    return target in zoo() or (target.endswith(_UNFENCED) and target in shipped())
