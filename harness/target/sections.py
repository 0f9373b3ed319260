"""The sections of a target file side by side, and what is wrong between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.nemesis.faults import FaultSpec
from harness.target.locks import LockSpec
from harness.target.models import WorkloadSpec
from harness.target.storages import StorageSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of one file; None, or absent, where one is wrong in itself."""

    lock: LockSpec | None = None
    storage: StorageSpec | None = None
    has_client: bool = False  # there is a section [client], right or wrong
    workload: WorkloadSpec | None = None
    expected: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    faults: dict[int, FaultSpec] = field(default_factory=dict)
    holds: bool = False  # expect is "valid"
    kinds: frozenset[str] | None = frozenset()  # of all faults, the wrong ones too; None: not known
    require: Mapping[str, int] = field(default_factory=dict)  # as the file has it, without the default
