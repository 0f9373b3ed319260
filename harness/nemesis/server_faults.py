"""Faults on servers, at moments drawn from the seed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from harness.core.duration import Span
from harness.nemesis.faults import ServerFault
from harness.nemesis.moments import holders
from harness.nemesis.observer import Observer
from harness.nemesis.overlap import sides_hit
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import Reservations
from harness.nemesis.triggers import wait_until
from harness.nemesis.windows import NO_ROOM, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFaults:
    """Injects faults on servers."""

    ttl: int  # ns
    reach: Reach
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
        reserve = partial(self.reservations.reserve, None, needs)
        for moment in moments:
            wait_until(lambda: False, moment, self.over.is_set)
            if self.over.is_set():
                return
            free = wait_until(lambda: self._is_time(fault) and reserve(), last, self.over.is_set)
            window(None if free else NO_ROOM)
            if free:
                with self.reservations.released_at_end(None, needs):
                    self._hit(fault, moment)

    def _is_time(self, fault: ServerFault) -> bool:
        return fault.when is None or any(True for _ in holders(self.reservations.state, fault.when))

    def _hit(self, fault: ServerFault, moment: int) -> None:
        if self.over.is_set():
            return
        in_force = fault.in_force(self.reach, self._wait)
        with self.observer.observed(fault, self.reach.recorded(fault.target), moment, in_force):
            if fault.lasts is not None:
                self._wait(fault.lasts)

    def _wait(self, length: Span) -> None:
        end = time.monotonic_ns() + length.resolve(self.ttl)
        wait_until(lambda: False, end, self.over.is_set)
