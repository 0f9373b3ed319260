"""Faults on servers, at moments drawn from the seed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.duration import Span
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.contradictions import Trait
from harness.nemesis.faults import ServerFault, name_of
from harness.nemesis.moments import holders
from harness.nemesis.reservations import Needs
from harness.nemesis.triggers import wait_until
from harness.nemesis.windows import NO_GRANT, NO_MOMENT, RUN_OVER, Tally, each_moment, had_servers


@dataclass(frozen=True, slots=True)
class ServerFaults:
    """Injects faults on servers, with what the faults on clients have."""

    clients: ClientFaults

    def strike(self, fault: ServerFault, moments: Sequence[int], last: int, window: Tally) -> None:
        """Strike at each moment (ns), or once its needs are free after that; by `last` at the latest."""
        needs = fault.needs(self.clients.reach) | self.clients.sides(fault)
        for moment in each_moment(moments, self.clients.over.is_set, window):
            why = self._reserve(fault, needs, last)
            if why is None:
                with self.clients.reservations.released_at_end(None, needs):
                    why = self._hit(fault, moment)
            window(why)

    def _reserve(self, fault: ServerFault, needs: Needs, last: int) -> str | None:
        """Reserve what a fault needs, at the moment that it waits for; return why that was not possible."""
        why, reservations = NO_MOMENT, self.clients.reservations

        def is_reserved() -> bool:
            nonlocal why
            if fault.when and not any(True for _ in holders(reservations.state, fault.when)):
                return False
            if reservations.reserve(name_of(fault), None, needs):
                return True
            why = had_servers(reservations.in_the_way(None, needs))
            return False

        return None if wait_until(is_reserved, last, self.clients.over.is_set) else why

    def _hit(self, fault: ServerFault, moment: int) -> str | None:
        """Inject a fault, and repair it; return why that hit nothing."""
        if self.clients.over.is_set():
            return RUN_OVER
        reach = self.clients.reach
        in_force = fault.in_force(reach, self._wait)
        with self.clients.observer.observed(fault, reach.recorded(fault.target), moment, in_force):
            was_held = self._is_held_meanwhile(fault)
        return NO_GRANT if Trait.NEEDS_HOLDER in fault.traits and not was_held else None

    def _is_held_meanwhile(self, fault: ServerFault) -> bool:
        """Wait until a fault ends; did anybody hold a lock?"""
        if fault.lasts is None:
            return self._is_held()
        end = time.monotonic_ns() + fault.lasts.resolve(self.clients.ttl)
        was_held = wait_until(self._is_held, end, self.clients.over.is_set)
        wait_until(lambda: False, end, self.clients.over.is_set)
        return was_held

    def _wait(self, length: Span) -> None:
        end = time.monotonic_ns() + length.resolve(self.clients.ttl)
        wait_until(lambda: False, end, self.clients.over.is_set)

    def _is_held(self) -> bool:
        return any(True for _ in holders(self.clients.reservations.state, None))
