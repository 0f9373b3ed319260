"""Everything below the prefix is removed, and nothing else."""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from harness.atlas.removal import Left, remove
from harness.atlas.wire import server_at
from tests.support.s3_server import BUCKET, Store, s3_server

PREFIX = "fencepost-atlas-1/"
KEYS = [f"{PREFIX}create-{number}" for number in range(50)]


@pytest.fixture
def pool() -> Iterator[Executor]:
    with ThreadPoolExecutor(4) as workers:
        yield workers


def removed(store: Store, pool: Executor) -> Left:
    server = server_at(store.url, bucket=BUCKET, region="us-east-1")
    return remove(server, PREFIX, KEYS, len(KEYS), pool)


@pytest.mark.parametrize(("lists_versions", "left"), [(True, Left.NOTHING), (False, Left.UNLISTED)])
def test_everything_below_the_prefix_is_removed(lists_versions: bool, left: Left, pool: Executor) -> None:
    with s3_server(lists_versions=lists_versions) as store:
        store.objects = dict.fromkeys([*KEYS, "another"], b"")

        assert removed(store, pool) is left
        assert list(store.objects) == ["another"]


@pytest.mark.parametrize("listing", ["ListBucketVersionsResult", "ListBucketResult"])
def test_listings_have_other_names_on_other_servers(listing: str, pool: Executor) -> None:
    with s3_server() as store:
        store.listing = listing
        store.objects = dict.fromkeys([*KEYS, "another"], b"")

        assert removed(store, pool) is Left.NOTHING
        assert list(store.objects) == ["another"]


def test_a_listing_of_objects_is_none_of_versions(pool: Executor) -> None:
    with s3_server() as store:
        store.listing, store.more = "ListBucketResult", "<Contents/>"
        store.objects = dict.fromkeys(KEYS, b"")

        assert removed(store, pool) is Left.UNLISTED


def test_an_endless_listing_ends(pool: Executor) -> None:
    with s3_server("lists more") as store:
        store.objects = dict.fromkeys(KEYS, b"")

        assert removed(store, pool) is Left.SOMETHING
        assert len(store.asked) < 5 * len(KEYS)


def test_other_objects_in_a_listing_are_not_deleted(pool: Executor) -> None:
    with s3_server("lists everything") as store:
        store.objects = dict.fromkeys([*KEYS, "another"], b"")

        assert removed(store, pool) is Left.NOTHING
        assert list(store.objects) == ["another"]


def test_what_cannot_be_removed_is_left(pool: Executor) -> None:
    with s3_server("refuses") as store:
        store.objects = dict.fromkeys(KEYS, b"")

        assert removed(store, pool) is Left.SOMETHING


def test_from_a_server_that_has_gone_nothing_is_removed(pool: Executor) -> None:
    with s3_server() as store:
        pass

    assert removed(store, pool) is Left.SOMETHING
