"""The faults of a target file."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from harness.duration import NS
from harness.target.fields import STRICT, Duration, Length, Servers, Side, Victim

SHORTEST_JUMP = 2 * NS["s"]


class PauseSpec(BaseModel):
    """A client's process is stopped (SIGSTOP) and later continued, as by a long garbage collection.

    With `at`, it stops itself on reaching that point; with `every`, it is
    stopped from outside, once in each such stretch at a moment drawn from the seed.
    """

    model_config = STRICT

    kind: Literal["pause"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    at: Literal["granted", "acquired", "list-read", "before-write", "write-sent", "before-release"] | None = (
        None
    )
    """The stop point."""
    until: Literal["contested", "superseded"] | None = None
    """superseded: another client got a higher token, and its write was accepted; at granted, where
    there may be no token yet: another client was granted the lock later, and its write was accepted.
    contested: it has read the list that it is about to change (workload append only)."""
    lasts: Length | None = None
    """How long it stays stopped."""
    every: Length | None = None
    """The stretch in which it is stopped once from outside."""

    @model_validator(mode="after")
    def _starts_and_ends_in_one_way(self) -> Self:
        if (self.at is None) == (self.every is None):
            raise ValueError("a pause starts either at a stop point or once every stretch: give at, or every")
        if self.every and self.until:
            raise ValueError("a pause from outside (every) ends by time: give lasts, not until")
        if (self.until is None) == (self.lasts is None):
            raise ValueError('a pause ends in one way: give until = "superseded", or lasts')
        return self


class PartitionSpec(BaseModel):
    """A client is cut off from the lock service, from the storage, from both, or from some servers."""

    model_config = STRICT

    kind: Literal["partition"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    side: Side = Field(alias="from")
    """What the client is cut off from; a list names servers, such as ["redis-4", "redis-5"]."""
    direction: Literal["both", "to-server", "to-client"] = "both"
    """What is held back: to-server loses requests, to-client loses answers to requests that arrive."""
    every: Length
    """The stretch in which it is cut off once."""
    lasts: Length
    """How long it stays cut off."""


class KillSpec(BaseModel):
    """Servers are killed (SIGKILL), and started again with what they had on disk."""

    model_config = STRICT

    kind: Literal["kill"]
    target: Servers
    """lock or storage (all its servers), or one server by its name, such as redis-1."""
    every: Length | None = None
    """The stretch in which they are killed once; without, it is once a run."""
    lasts: Length
    """How long they stay down."""


class FailoverSpec(BaseModel):
    """The replica of the lock service takes the place of its primary, once a run."""

    model_config = STRICT
    every: ClassVar[None] = None
    lasts: ClassVar[None] = None

    kind: Literal["failover"]
    target: Literal["lock"]
    held: Length | None = None
    """For how long the replication is held before: what is acknowledged meanwhile is lost."""


class ClockSpec(BaseModel):
    """The wall clock of Redis servers jumps ahead while they run, and back again."""

    model_config = STRICT

    kind: Literal["clock"]
    target: Servers
    """One server by its name, such as redis-3; or lock or storage (all its servers)."""
    jump: Duration
    """How far ahead."""
    every: Length | None = None
    """The stretch in which it jumps once; without, it is once a run."""
    lasts: Length
    """After what time it jumps back."""

    @field_validator("jump")
    @classmethod
    def _is_seen(cls, jump: int) -> int:
        if jump < SHORTEST_JUMP:
            raise ValueError("must be at least 2s: less is not told from the time that asking takes")
        return jump


ClientFault = PauseSpec | PartitionSpec
ServerFault = KillSpec | FailoverSpec | ClockSpec
FaultSpec = Annotated[ClientFault | ServerFault, Field(discriminator="kind")]
