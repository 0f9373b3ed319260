"""The targets that ship: which have a planted bug, and in which the same is done right."""

from __future__ import annotations

from pathlib import Path

from harness.target.reading import in_folder, shipped, shipped_folder

_ZOO = "zoo"
_RIGHT = ("{bug}-twin", "{bug}-fence-on-acquire")
_UNFENCED = "-unfenced"


def correct_twin(target: str) -> Path | None:
    """The target that does right what this one does wrong; None where none ships."""
    known = shipped() | _zoo()
    names = [name.format(bug=target) for name in _RIGHT]
    if target.endswith(_UNFENCED):
        names.append(target.removesuffix(_UNFENCED))
    return next((known[name] for name in names if name in known), None)


def shipped_target(name: str) -> Path | None:
    """The file of a target that ships, or of an exhibit of the zoo; None where none is called so."""
    return (shipped() | _zoo()).get(name)


def is_planted(target: str) -> bool:
    """Was its bug put there on purpose: an exhibit of the zoo, or a storage without its fence?"""
    return target in _zoo() or (target.endswith(_UNFENCED) and target in shipped())


def _zoo() -> dict[str, Path]:
    return in_folder(shipped_folder() / _ZOO)
