"""Which appends took effect, and on which other append's list each was built."""

from __future__ import annotations

import pytest

from checkers.facts.evidence import Evidence
from checkers.facts.shown_appends import shown_appends
from tests.support.appends import append, history, read


@pytest.mark.parametrize(("returned", "shows"), [(4, False), (5, True)])
def test_an_append_builds_on_one_that_was_called_by_its_return(returned: int, shows: bool) -> None:
    operations = append(0, returned, 2, "a", "b"), append(5, 6, 1, "", "a")

    found = shown_appends(Evidence(history=history(*operations)))

    assert [(each.element, writer.element) for each, writer in found.pairs] == [("b", "a")] * shows


def test_a_list_shows_what_an_unanswered_append_was_built_on() -> None:
    operations = append(0, 1, 1, "", "a"), append(2, None, 2, None, "b", "info"), read(3, 4, "ab")

    found = shown_appends(Evidence(history=history(*operations)))

    assert [(each.element, writer.element) for each, writer in found.pairs] == [("b", "a")]
