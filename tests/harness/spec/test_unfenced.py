"""The unfenced copy of a target."""

from __future__ import annotations

import pytest

from harness.core.errors import ConfigurationError
from harness.spec import load
from harness.spec.overrides import unfenced_overrides
from harness.spec.reading import shipped


def test_the_copy_differs_in_its_name_its_fence_and_what_it_expects() -> None:
    target = load("etcd-postgres")

    copy = load("etcd-postgres", unfenced_overrides(target))

    assert (copy.name, copy.expected, copy.storage.fencing) == (
        "etcd-postgres-unfenced",
        ("stale-write",),
        "none",
    )
    assert (copy.lock, copy.workload, copy.faults) == (target.lock, target.workload, target.faults)


def test_a_copy_with_appends_may_lose_updates_and_never_fences() -> None:
    target = load("etcd-postgres-append-fence-on-acquire")

    copy = load("etcd-postgres-append-fence-on-acquire", unfenced_overrides(target))

    assert copy.may == ("lost-update",)
    assert not copy.storage.fence_on_acquire


def test_an_unfenced_target_has_no_copy() -> None:
    with pytest.raises(
        ConfigurationError, match=r'etcd-postgres-unfenced: storage\.fencing is "none" already'
    ):
        unfenced_overrides(load("etcd-postgres-unfenced"))


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_fenced_target_that_ships_has_a_copy(name: str) -> None:
    target = load(name)
    if target.fenced:
        assert not load(name, unfenced_overrides(target)).fenced
