"""Faults on servers, at moments drawn from the seed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.duration import Span
from harness.nemesis.clock import ClockSpec
from harness.nemesis.faults import ServerFault, name_of, sides_hit
from harness.nemesis.moments import holders
from harness.nemesis.observer import Observer
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs, Reservations
from harness.nemesis.triggers import wait_until
from harness.nemesis.windows import NO_GRANT, NO_MOMENT, RUN_OVER, Tally, each_moment, had_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFaults:
    """Injects faults on servers."""

    ttl: int  # ns
    reach: FaultReach
    reservations: Reservations
    observer: Observer
    over: threading.Event
    overlap: bool = True  # may several faults be in force on one side?

    def strike(self, fault: ServerFault, moments: Sequence[int], last: int, window: Tally) -> None:
        """Strike at each moment (ns), or as soon after it as its needs are free.

        A fault begins at `last` at the latest.
        """
        needs = fault.needs(self.reach)
        if not self.overlap:
            needs = needs | sides_hit(fault, self.reach.sides)
        for moment in each_moment(moments, self.over.is_set, window):
            why = self._reserve(fault, needs, last)
            if why is None:
                with self.reservations.released_at_end(None, needs):
                    why = self._hit(fault, moment)
            window(why)

    def _reserve(self, fault: ServerFault, needs: Needs, last: int) -> str | None:
        """Reserve what a fault needs, at the moment that it waits for; return why that was not possible."""
        why = NO_MOMENT

        def is_reserved() -> bool:
            nonlocal why
            if not self._is_time(fault):
                return False
            if self.reservations.reserve(name_of(fault), None, needs):
                return True
            why = had_servers(self.reservations.in_the_way(None, needs))
            return False

        return None if wait_until(is_reserved, last, self.over.is_set) else why

    def _is_time(self, fault: ServerFault) -> bool:
        return fault.when is None or any(True for _ in holders(self.reservations.state, fault.when))

    def _hit(self, fault: ServerFault, moment: int) -> str | None:
        """Inject a fault, and repair it; return why that hit nothing."""
        if self.over.is_set():
            return RUN_OVER
        in_force = fault.in_force(self.reach, self._wait)
        with self.observer.observed(fault, self.reach.recorded(fault.target), moment, in_force):
            was_held = self._is_held_meanwhile(fault)
        return NO_GRANT if isinstance(fault, ClockSpec) and not was_held else None

    def _is_held_meanwhile(self, fault: ServerFault) -> bool:
        """Wait until a fault ends; did anybody hold a lock?"""
        if fault.lasts is None:
            return self._is_held()
        end = time.monotonic_ns() + fault.lasts.resolve(self.ttl)
        was_held = wait_until(self._is_held, end, self.over.is_set)
        wait_until(lambda: False, end, self.over.is_set)
        return was_held

    def _wait(self, length: Span) -> None:
        end = time.monotonic_ns() + length.resolve(self.ttl)
        wait_until(lambda: False, end, self.over.is_set)

    def _is_held(self) -> bool:
        return any(True for _ in holders(self.reservations.state, None))
