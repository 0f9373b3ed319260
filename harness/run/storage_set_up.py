"""Prepare the storage of a run, before its clients start."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.errors import ServerNotReadyError
from harness.run.refusals import as_error
from harness.spec.fields import PROGRAM
from workloads import storages
from workloads.client import NotApplied, Unknown
from workloads.custom_class import FailedClassError
from workloads.settings import StorageSettings


def set_up(storage: StorageSettings, resources: Sequence[str], attached: Sequence[str] = ()) -> None:
    """Create what the storage needs. A program's does it itself.

    Raises ServerNotReadyError if that fails; ConfigurationError if servers that already ran, at the
    addresses `attached`, refuse it.
    """
    if storage.kind == PROGRAM:
        return
    try:
        storages.load_kind(storage.kind).set_up(storage, resources)
    except FailedClassError as error:
        raise ServerNotReadyError(f"storage.kind: {error}") from error
    except (NotApplied, Unknown) as error:
        why = f"could not be set up: {' '.join(str(error).split())}"
        if attached:
            raise as_error(error, f"storage.servers: {', '.join(attached)} {why}", "storage") from error
        where = " at ".join([storage.kind, *storage.endpoints[:1]])
        raise ServerNotReadyError(f"{where} {why}") from error
