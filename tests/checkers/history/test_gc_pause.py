"""Cyclic garbage is not collected during bulk work, but for that of long loops."""

from __future__ import annotations

import weakref

from checkers.history.gc_pause import collecting, gc_paused


class Linked:
    """An object that only the collector of cycles can free."""

    def __init__(self) -> None:
        self.itself = self


def test_cycles_of_a_long_loop_are_collected_on_the_way() -> None:
    with gc_paused():
        left = [weakref.ref(Linked()) for _ in collecting(range(2_000))]
        alive = sum(each() is not None for each in left)

    assert alive < 1_000


def test_without_that_no_cycle_is_collected() -> None:
    with gc_paused():
        left = [weakref.ref(Linked()) for _ in range(2_000)]
        alive = sum(each() is not None for each in left)

    assert alive == 2_000
