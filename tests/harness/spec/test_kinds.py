"""The kind of a section selects its keys; a wrong one hides none of their errors."""

from __future__ import annotations

import pytest

from harness.spec.locks import LOCKS
from tests.support.target_files import errors_in


@pytest.mark.parametrize(
    ("section", "errors"),
    [
        (
            'kind = "zookeepr"\nttl = "2"\nnodes = 2\nnods = 3',
            [
                '3: lock.kind = "zookeepr": there is no such kind; did you mean zookeeper?',
                '4: lock.ttl = "2": must be a duration with a unit, such as "2s", "1500ms" or "2m"',
                "5: lock.nodes = 2: must be 1, 3 or 5",
                "6: lock.nods = 3: unknown key in [lock]; did you mean nodes?",
            ],
        ),
        (
            'kind = "consul"\nttl = 2\nnodes = 2\nqq = 1',
            [
                f'3: lock.kind = "consul": there is no such kind; there are: {", ".join(LOCKS)}',
                '4: lock.ttl = 2: must be a duration with a unit, such as "2s", "1500ms" or "2m"',
                "6: lock.qq = 1: unknown key in [lock]; there are: ",
            ],
        ),
        (
            "ttl = 2",
            [
                f"2: lock: has no kind; there are: {', '.join(LOCKS)}",
                '3: lock.ttl = 2: must be a duration with a unit, such as "2s", "1500ms" or "2m"',
            ],
        ),
    ],
    ids=["a misspelled kind", "an unknown kind", "no kind"],
)
def test_a_wrong_kind_hides_no_other_error_of_its_section(section: str, errors: list[str]) -> None:
    head, tail = 'name = "t"\n[lock]\n', '\n[storage]\nkind = "sqlite"\nfencing = "none"\n'

    found = [error for error in errors_in(head + section + tail) if "lock" in error]

    assert len(found) == len(errors)
    for error, expected in zip(found, errors, strict=True):
        assert error.startswith(f"t.toml:{expected}")
