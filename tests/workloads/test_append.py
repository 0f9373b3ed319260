"""Lists that a storage holds as text, and what it may answer instead."""

from __future__ import annotations

import pytest

from checkers.history.records import Commit
from workloads.append import with_parsed_list
from workloads.client import Unknown


def commit(value: str) -> Commit:
    return Commit(seq=1, resource="r0", token=1, value=value)


def test_the_list_of_a_commit_is_parsed() -> None:
    assert with_parsed_list(commit('["0-1.0", "é"]')).value == ("0-1.0", "é")


@pytest.mark.parametrize(
    "said", ["None", "[", "{}", "7", '"ab"', "[7]", "[[]]", "[NaN]", '["\\ud800"]', '["\ud800"]', "[" * 1_000]
)
def test_a_text_that_is_no_list_of_texts_is_refused(said: str) -> None:
    with pytest.raises(Unknown, match="not a list of texts: ") as caught:
        with_parsed_list(commit(said))

    assert len(str(caught.value)) < 500
