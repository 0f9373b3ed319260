"""Targets with a release of versitygw."""

import pytest

from harness.core.errors import ConfigurationError
from harness.spec import load
from harness.spec.overrides import unfenced_overrides
from tests.support.target_files import SMALL, error_in, errors_in, read, target_text


def test_another_release_than_one_of_versitygw_is_refused_for_s3() -> None:
    (error,) = errors_in(SMALL.replace('kind = "etcd"', 'kind = "s3"\nversion = "3.6.7"'))

    assert error.endswith('must be a release of versitygw, such as "1.8.0"')


@pytest.mark.parametrize("fencing", ["none", "epoch-object"])
def test_versitygw_does_not_show_the_order_of_writes_without_a_condition(fencing: str) -> None:
    storage = f'kind = "s3"\nversion = "1.8.0"\nfencing = "{fencing}"'

    assert 'version needs fencing = "if-match"' in error_in(target_text(storage=storage))
    assert read(target_text(storage=storage.replace(fencing, "if-match"))).storage.version == "1.8.0"


def test_two_gateways_of_s3_need_a_server_that_stores_files() -> None:
    text = SMALL.replace('kind = "etcd"', 'kind = "s3"\nnodes = 2')
    (error,) = errors_in(text)

    assert error.endswith("two nodes need a release of versitygw, which stores files: set version too")
    assert read(text.replace("nodes = 2", 'nodes = 2\nversion = "1.8.0"')).lock.servers == ("s3-1", "s3-2")


def test_a_target_whose_storage_is_versitygw_has_no_unfenced_copy() -> None:
    overrides = unfenced_overrides(load("s3-s3-kill"))

    with pytest.raises(ConfigurationError, match='version needs fencing = "if-match"'):
        load("s3-s3-kill", overrides)
