"""Targets: the lock service, storage, workload and faults of a test.

A target is a TOML file. `load` reads one, and reports all its errors together; the rest of
the harness uses the models.
"""

from harness.spec.locks import LockSpec
from harness.spec.models import Target, WorkloadSpec
from harness.spec.reading import load, shipped
from harness.spec.storages import StorageSpec

__all__ = ["LockSpec", "StorageSpec", "Target", "WorkloadSpec", "load", "shipped"]
