"""The sections of a target file, for checks of contradictions between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.nemesis.faults import FaultSpec
from harness.spec.locks import LockSpec
from harness.spec.models import WorkloadSpec
from harness.spec.storages import StorageSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of one file; an invalid one is None or absent."""

    lock: LockSpec | None = None
    storage: StorageSpec | None = None
    program_sides: frozenset[str] = frozenset()  # "lock", "storage": what the program of [client] does
    workload: WorkloadSpec | None = None
    expected: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    faults: dict[int, FaultSpec] = field(default_factory=dict)
    wrong: frozenset[int] = frozenset()  # faults with errors; some are in `faults`, with another target
    overlap: bool = True
    holds: bool = False  # expect is "valid"
    kinds: frozenset[str] | None = frozenset()  # of all faults, including invalid ones; None: unknown
    require: Mapping[str, int] = field(default_factory=dict)  # as the file has it, without the default

    def others(self, index: int) -> Iterator[FaultSpec]:
        """Yield all faults without errors, but one."""
        return (fault for n, fault in self.faults.items() if n != index and n not in self.wrong)


def program_sides_of(client: object) -> frozenset[str]:
    """Return the sides that a program does; both, if the section does not say it correctly."""
    if client is None:
        return frozenset()
    side = client.get("side") if isinstance(client, dict) else None
    return frozenset({side} if side in ("lock", "storage") else ("lock", "storage"))
