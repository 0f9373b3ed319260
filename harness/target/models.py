"""The sections of a target file. Every length of time is in ns, or a `Span` of TTLs."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from checkers.anomalies import COVERAGE
from checkers.records import DEFAULT_REQUIRE
from harness.duration import DURATION_PATTERN, NS, SPAN_PATTERN, Span, parse_duration, parse_span
from harness.target.names import EXPECTABLE, known_anomalies, known_coverage

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)

SHORTEST_ETCD_TTL = 2 * NS["s"]
LONGEST_TTL = NS["h"]
LONGEST_RUN = 24 * NS["h"]
MOST_REQUIRED = 10**9

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
IMAGE_PATTERN = r"^\S+$"

VICTIM_PATTERN = r"^(holder(:r\d+)?|client:\d+)$"


def _victim(text: str) -> str:
    if not re.match(VICTIM_PATTERN, text):
        raise ValueError('must be "holder", "holder:r0" (of that resource) or "client:0"')
    return text


def _expectation(value: object) -> tuple[str, ...]:
    """`"valid"` is an expectation of no anomaly at all."""
    if value == "valid":
        return ()
    if isinstance(value, tuple) and value and all(isinstance(name, str) for name in value):
        return known_anomalies(value)
    raise ValueError('must be "valid", or a list of what must be found, such as ["stale-write"]')


def _with_default_require(minima: dict[str, int]) -> dict[str, int]:
    return DEFAULT_REQUIRE | minima


NAMES_SCHEMA = {"type": "array", "items": {"enum": list(EXPECTABLE)}, "uniqueItems": True}

Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["2s", "1500ms"]}),
]
Length = Annotated[
    Span,
    BeforeValidator(parse_span),
    WithJsonSchema({"type": "string", "pattern": SPAN_PATTERN, "examples": ["1.5 ttl", "3s"]}),
]
Victim = Annotated[
    str,
    AfterValidator(_victim),
    WithJsonSchema({"type": "string", "pattern": VICTIM_PATTERN, "examples": ["holder", "client:2"]}),
]
Expectation = Annotated[
    tuple[str, ...],
    BeforeValidator(_expectation),
    WithJsonSchema({"anyOf": [{"const": "valid"}, NAMES_SCHEMA | {"minItems": 1}]}),
]
Anomalies = Annotated[tuple[str, ...], AfterValidator(known_anomalies), WithJsonSchema(NAMES_SCHEMA)]
Minima = Annotated[
    dict[Annotated[str, AfterValidator(known_coverage)], Annotated[int, Field(ge=0, le=MOST_REQUIRED)]],
    AfterValidator(_with_default_require),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                name: {"type": "integer", "minimum": 0, "maximum": MOST_REQUIRED, "description": what}
                for name, what in COVERAGE.items()
            },
            "additionalProperties": False,
        }
    ),
]
Image = Annotated[str, Field(pattern=IMAGE_PATTERN)]


class LockSpec(BaseModel):
    """The lock service."""

    model_config = STRICT

    kind: Literal["etcd"]
    """etcd: a key created with a lease, if it is absent; its create_revision is the token."""
    nodes: Literal[1, 3] = 3
    """Members of the cluster."""
    ttl: Duration = Field(2 * NS["s"], json_schema_extra={"default": "2s"})
    """How long a grant lasts without a keep-alive."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as quay.io/coreos/etcd:v3.6.4."""

    @field_validator("ttl")
    @classmethod
    def _etcd_can_grant_it(cls, ttl: int) -> int:
        if ttl < SHORTEST_ETCD_TTL:
            raise ValueError("etcd grants no lease shorter than 2s")
        if ttl % NS["s"]:
            raise ValueError("etcd counts leases in whole seconds")
        if ttl > LONGEST_TTL:
            raise ValueError("must be at most 1h")
        return ttl


class StorageSpec(BaseModel):
    """The storage, and what it does about stale tokens."""

    model_config = STRICT

    kind: Literal["postgres"]
    """postgres: one row a resource."""
    fencing: Literal["none", "conditional-update", "select-for-update", "upsert"]
    """How a write with a stale token is kept out; none: it is not."""
    policy: Literal["strict", "inclusive"] = "strict"
    """strict accepts token > mark (one write a token); inclusive accepts token >= mark."""
    image: Image | None = None
    """An official image to run instead of Fencepost's own, such as postgres:18."""

    @property
    def writes_in_one_message(self) -> bool:
        """Does a write travel as a whole, so that a client stopped after sending holds nothing open?"""
        return self.fencing != "select-for-update"


class WorkloadSpec(BaseModel):
    """What the clients do."""

    model_config = STRICT

    kind: Literal["register"] = "register"
    """register: acquire, write values that are unique in the run, read, release."""
    clients: Annotated[int, Field(ge=2, le=200)] = 5
    """Logical clients, each an OS process."""
    resources: Annotated[int, Field(ge=1, le=1000)] = 2
    """What is locked and written: r0, r1, …"""
    duration: Duration = Field(20 * NS["s"], json_schema_extra={"default": "20s"})
    """How long the clients work."""
    writes: Annotated[int, Field(ge=1, le=3)] | None = None
    """The most writes of one hold: 1 under the policy strict, else 3 if not said."""
    think: Duration = Field(20 * NS["ms"], json_schema_extra={"default": "20ms"})
    """The longest pause for thought between two steps; the seed draws each."""

    @field_validator("duration")
    @classmethod
    def _ends_some_day(cls, duration: int) -> int:
        if duration > LONGEST_RUN:
            raise ValueError("must be at most 24h")
        return duration


class PauseSpec(BaseModel):
    """A client's process is stopped (SIGSTOP) and later continued, as by a long garbage collection.

    With `at`, it stops itself on reaching that point; with `every`, it is
    stopped from outside, once in each such stretch at a moment drawn from the seed.
    """

    model_config = STRICT

    kind: Literal["pause"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    at: Literal["acquired", "before-write", "write-sent", "before-release"] | None = None
    """The stop point."""
    until: Literal["superseded"] | None = None
    """superseded: another client got a higher token, and its write was accepted."""
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
    """A client is cut off from the lock service, from the storage, or from both."""

    model_config = STRICT

    kind: Literal["partition"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    side: Literal["lock", "storage", "both"] = Field(alias="from")
    """What the client is cut off from."""
    direction: Literal["both", "to-server", "to-client"] = "both"
    """What is held back: to-server loses requests, to-client loses answers to requests that arrive."""
    every: Length
    """The stretch in which it is cut off once."""
    lasts: Length
    """How long it stays cut off."""


FaultSpec = Annotated[PauseSpec | PartitionSpec, Field(discriminator="kind")]


class Target(BaseModel):
    """One case to test: a lock service and a storage, the work, and the faults."""

    model_config = STRICT

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """Names the folder of its runs."""
    expected: Expectation = Field(alias="expect")
    """"valid", or the anomalies that must be found."""
    may: Anomalies = ()
    """Anomalies that may come with those."""
    lock: LockSpec
    storage: StorageSpec
    workload: WorkloadSpec = Field(default_factory=WorkloadSpec)
    faults: tuple[FaultSpec, ...] = ()
    require: Minima = Field(default_factory=DEFAULT_REQUIRE.copy)
    """How often a run must have challenged the fence to be judged valid."""

    _source: str = PrivateAttr(default="")

    @property
    def source(self) -> str:
        """The TOML text that this target was read from, with what `--set` changed."""
        return self._source

    @property
    def fenced(self) -> bool:
        """Is the storage said to keep stale writers out?"""
        return self.storage.fencing != "none"

    @property
    def most_writes(self) -> int:
        """The most writes of one hold; a strict fence refuses a holder's second."""
        if self.storage.policy == "strict":
            return 1
        return self.workload.writes or 3
