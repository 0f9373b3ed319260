"""Targets: the lock service, storage, workload and faults of a test.

A target is a TOML file. `load` reads one, and reports all its errors together; the rest of
the harness uses the models.
"""

from harness.target.locks import LockSpec
from harness.target.models import Target, WorkloadSpec
from harness.target.reading import load, shipped
from harness.target.storages import StorageSpec

__all__ = [
    "LockSpec",
    "StorageSpec",
    "Target",
    "WorkloadSpec",
    "load",
    "shipped",
]
