"""Records when each fault was observed in force and observed healed, with the evidence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from harness.core.events import FaultObserved
from harness.nemesis.fault import InForce
from harness.nemesis.faults import FaultSpec
from harness.nemesis.plan import ObservedFault, PlanLog

Hold = tuple[str | None, str | None]  # the resource and the owner that a fault hit
NO_HOLD: Hold = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Writes both observations of a fault to the history, to plan.json and to the run's events."""

    log: PlanLog
    record: Callable[[dict[str, Any]], None]  # an event of the history
    notify: Callable[[FaultObserved], None]

    @contextmanager
    def observed(
        self,
        fault: FaultSpec,
        target: str,
        requested: int,
        in_force: InForce,
        hold: Callable[[], Hold] = lambda: NO_HOLD,
    ) -> Iterator[int]:
        """Keep a fault in force for the block; yield since when (ns). `hold` is called once it is."""
        seen = ObservedFault(
            kind=fault.kind, target=target, resource=None, owner=None, at=fault.at, requested=requested
        )
        self.log.add(seen)
        with in_force as now:
            seen.target = now.target  # a leader is known by now
            seen.resource, seen.owner = hold()
            seen.evidence = now.evidence
            seen.in_force = time.monotonic_ns() if now.since is None else now.since
            self._record(seen, "in force", now.evidence, seen.in_force, now.left_behind)
            yield seen.in_force
        if not now.ends:
            return
        seen.healed_evidence = now.healed
        seen.healed = time.monotonic_ns() if now.until is None else now.until
        self._record(seen, "healed", now.healed, seen.healed)

    def _record(
        self,
        fault: ObservedFault,
        state: Literal["in force", "healed"],
        evidence: str,
        now: int,
        left_behind: tuple[int, ...] = (),
    ) -> None:
        value: dict[str, Any] = {"target": fault.target, "state": state, "evidence": evidence}
        if left_behind:
            value["left_behind"] = left_behind
        if fault.owner is not None:
            value |= {"resource": fault.resource, "owner": fault.owner}
            value |= {} if fault.at is None else {"at": fault.at}
        self.record({"time": now, "process": "nemesis", "type": "info", "f": fault.kind, "value": value})
        self.log.changed()
        self.notify(
            FaultObserved(
                kind=fault.kind,
                target=fault.target,
                state=state,
                evidence=evidence,
                elapsed=now - self.log.started,
            )
        )
