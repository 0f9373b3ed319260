"""What is tested: which lock service, which storage, which work, which faults.

A target is a TOML file. `load` reads one, and reports everything that is wrong
with it at once; the models are what the rest of the harness sees.
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
