"""Stop: a client is stopped in order and started again, as in a rolling deployment.

Its process gets SIGTERM and a grace; what is left of it then gets SIGKILL, with all its child processes.
Then the next process of that client starts.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Literal

import psutil
from pydantic import BaseModel

from checkers.vocabulary.fault_kinds import FaultKind
from harness.core.duration import NS, Span
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Duration, Length
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait
from harness.nemesis.edge_probes import ms
from harness.nemesis.fault import GoOn, InForce, InjectedFault, polls
from harness.nemesis.fields import Victim
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import NOTHING, Needs
from harness.nemesis.stop_points import StopPoint, never_reached
from harness.processes import process_tree

GRACE = 3 * NS["s"]
POLL = 0.001  # s
_PENDING = ("SigPnd:", "ShdPnd:")  # of the thread, and of the process (proc(5))


class StopSpec(BaseModel):
    """A client gets SIGTERM, after a grace SIGKILL, and is then started again, as in a rolling deployment."""

    model_config = STRICT
    called: ClassVar[str] = "stop"
    words: ClassVar[FaultKind] = FaultKind(
        lasting="was being restarted",
        now="is being restarted",
        afterwards="has been restarted",
        short="restarted",
        count="stops",
    )
    counts: ClassVar[tuple[str, ...]] = ("stops",)
    traits: ClassVar[Trait] = Trait.LASTS_A_GRACE
    neutral: ClassVar[Mapping[str, object]] = {"target": "holder"}
    engine_need: ClassVar[None] = None
    until: ClassVar[None] = None
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["stop"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    grace: Duration = GRACE
    """How long the client may take to end by itself; then it is killed."""
    at: StopPoint | None = None
    """The stop point at which it is stopped: each time that a client comes there, or with every, once from
    each drawn moment on. Without it, at the drawn moments."""
    every: Length | None = None
    """It happens once in each interval of this length; without it and without at, once per run."""
    when: When = None

    @property
    def lasts(self) -> Span:
        """How long it is in force at most, but for the start of the next process."""
        return Span(ns=self.grace)

    def aim(self) -> tuple[str, ...]:
        """Return no servers: a client is hit."""
        return ()

    def needs(self, _reach: FaultReach, _client: int) -> Needs:
        """Return nothing: only the client is reserved."""
        return NOTHING

    def in_force_on(self, reach: FaultReach, client: int, go_on: GoOn | None) -> InForce:
        """Stop a client, which may have stopped itself at the stop point and then goes on."""
        return stop_client(reach, client, self.grace, go_on)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield stop points that are never reached."""
        yield from never_reached(index, self, sections)


@contextmanager
def stop_client(
    reach: FaultReach, client: int, grace: int, go_on: GoOn | None = None
) -> Iterator[InjectedFault]:
    """Send a client SIGTERM, and SIGKILL after the grace (ns) if it has not ended; then start it again.

    In force means: the signal was delivered to its process. Healed means: that process has ended with all
    its child processes, and the next one is ready. Raises FaultNotInstalledError if that is not observed.
    Any thread may call it.
    """
    process, target = reach.processes[client], f"client:{client}"
    everybody = process_tree.members(process)
    reach.ended_by_faults.add(client)
    try:
        since = time.monotonic_ns()  # from here on it may leave
        _send(process, target)
        if go_on is not None:
            go_on()
        _prove_delivered(process, target)
        fault = InjectedFault(
            "stop", target, evidence=f"SIGTERM was delivered to process {process.pid}", since=since
        )
        yield fault
        left = since + grace - time.monotonic_ns()
        any(process_tree.has_ended(process) for _ in polls(left / NS["s"], POLL))
    finally:
        was_killed = _end(process, everybody, target)
        ended = time.monotonic_ns()
        code, ready = reach.start_again(client)
        reach.ended_by_faults.discard(client)
    fault.was_killed = was_killed
    how = "was killed after its grace" if was_killed else f"ended with exit code {code}"
    later, next_one = ms((ended - since) / NS["s"]), reach.processes[client].pid
    fault.until = ready
    fault.healed = f"process {process.pid} {how}, {later} later; process {next_one} is ready"


def _send(process: psutil.Process, target: str) -> None:
    try:
        process.terminate()
    except psutil.NoSuchProcess:
        raise FaultNotInstalledError("stop", target, f"process {process.pid} had already ended") from None


def _prove_delivered(process: psutil.Process, target: str) -> None:
    for _ in polls(process_tree.SETTLING, POLL):
        if not _is_pending(process):
            return
        with suppress(psutil.NoSuchProcess):
            process.resume()  # it had just stopped itself for another fault, which cannot hit it any more
    raise FaultNotInstalledError("stop", target, f"SIGTERM is still pending in process {process.pid}")


def _is_pending(process: psutil.Process) -> bool:
    """Is SIGTERM still pending? False if the process has ended."""
    with suppress(OSError):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        masks = [int(line.split()[1], 16) for line in lines if line.startswith(_PENDING)]
        return any(mask >> (signal.SIGTERM - 1) & 1 for mask in masks)
    return False


def _end(process: psutil.Process, everybody: list[psutil.Process], target: str) -> bool:
    """Kill what is left of a client; return whether its own process was."""
    is_left = not process_tree.has_ended(process)
    for each in everybody:
        if not process_tree.has_ended(each):
            process_tree.end(each)
    if not process_tree.wait_until_ended(everybody):
        raise FaultNotInstalledError("end of the stop", target, f"process {process.pid} is still there")
    return is_left
