"""Faults on servers: carried out at moments that the seed drew."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.duration import Span
from harness.nemesis.aiming import Aim
from harness.nemesis.claims import Claims
from harness.nemesis.observing import Observer
from harness.nemesis.triggers import wait_until
from harness.target.faults import ServerFault


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFaults:
    """Hits servers, and gives them back."""

    ttl: int  # ns
    aim: Aim
    claims: Claims
    observer: Observer
    over: threading.Event

    def strike(self, fault: ServerFault, moments: Sequence[int], last: int) -> None:
        """Hit at each moment (ns), or as soon after it as no other fault has what it needs.

        A fault begins at `last` at the latest.
        """
        needs = self.aim.needs(fault)
        for moment in moments:
            wait_until(lambda: False, moment, self.over.is_set)
            if wait_until(lambda: self.claims.take(None, needs), last, self.over.is_set):
                with self.claims.released_in_the_end(None, needs):
                    self._hit(fault, moment)

    def _hit(self, fault: ServerFault, moment: int) -> None:
        if self.over.is_set():
            return
        in_force = self.aim.hit(fault, self._wait)
        with self.observer.observed(fault, self.aim.name(fault), moment, in_force):
            if fault.lasts is not None:
                self._wait(fault.lasts)

    def _wait(self, length: Span) -> None:
        end = time.monotonic_ns() + length.resolve(self.ttl)
        wait_until(lambda: False, end, self.over.is_set)
