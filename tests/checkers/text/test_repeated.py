"""Things that occur more than once."""

from __future__ import annotations

from checkers.text.repeated import repeated

MANY = 1_000


class Name(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str(self) == str(other)

    __hash__ = str.__hash__


def test_each_that_is_repeated_is_named_once_in_order() -> None:
    assert repeated(["b", "a", "c", "a", "b", "a"]) == ("b", "a")


def test_many_names_are_not_each_compared_with_all_others() -> None:
    names = [Name(number) for number in [*range(MANY), MANY - 1]]
    Name.compared = 0

    assert repeated(names) == (str(MANY - 1),)
    assert Name.compared < 2 * MANY
