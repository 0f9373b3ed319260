"""Clients with other settings on the same connection, for all kinds of storage, on real servers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import systems
from tests.support.systems import MAKES_ITS_ITEMS, CommitsOf, nothing
from workloads.client import NotApplied, Stale
from workloads.storages import WITH_LOG

pytestmark = pytest.mark.engine


def test_clients_that_share_a_connection_have_fences_of_their_own(
    open_storage: Any, resource: str, at: list[str], kind: str, fencing: str
) -> None:
    storage = open_storage(fencing)
    unfenced = storage.sharing(systems.storage_settings(kind, at, fencing="none"))

    storage.write(resource, 5, "new", nothing)
    with pytest.raises(Stale):
        storage.write(resource, 4, "late", nothing)
    unfenced.write(resource, 3, "late", nothing)

    assert storage.read(resource) == ("late", 3)


def test_a_write_without_the_log_is_fenced_all_the_same(
    open_storage: Any, resource: str, at: list[str], commits_of: CommitsOf, kind: str, fencing: str
) -> None:
    if kind not in WITH_LOG:
        pytest.skip("it logs nothing itself")
    settings = replace(systems.storage_settings(kind, at, fencing=fencing), logged=False)
    quiet = open_storage(fencing).sharing(settings)

    quiet.write(resource, 5, "new", nothing)
    with pytest.raises(Stale):
        quiet.write(resource, 4, "late", nothing)
    if fencing not in MAKES_ITS_ITEMS:
        with pytest.raises(NotApplied, match=r"no (hash|key|znode|row) for nowhere"):
            quiet.write("nowhere", 5, "lost", nothing)

    assert quiet.read(resource) == ("new", 5)
    assert commits_of(resource) == []
