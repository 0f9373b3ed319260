"""A target file, and what its clients do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, field_validator

from checkers.history.records import DEFAULT_REQUIRE
from harness.core.duration import NS
from harness.core.fields import STRICT, Duration
from harness.nemesis.faults import FaultSpec
from harness.nemesis.reach import ServersOfSides
from harness.target.fields import NAME_PATTERN, Anomalies, Expectation, Minima
from harness.target.locks import LockSpec
from harness.target.storages import EtcdStorage, StorageSpec

LONGEST_RUN = 24 * NS["h"]


class WorkloadSpec(BaseModel):
    """What the clients do."""

    model_config = STRICT

    kind: Literal["register", "append"] = "register"
    """register: acquire, write values that are unique in the run, read, release.
    append: acquire, read a list and write it back with one element more, read, release."""
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


def _names_a_program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command:
        raise ValueError("must not be empty")
    return command


Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], AfterValidator(_names_a_program)]


class ClientSpec(BaseModel):
    """A program of your own that is each client: it speaks the line protocol of docs/adapters.md."""

    model_config = STRICT

    command: Words = Field(json_schema_extra={"minItems": 1})
    """The program and its arguments, started in the folder that the command was called in."""


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
    client: ClientSpec | None = None
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
    def sides(self) -> ServersOfSides:
        """The names of the servers that are started for each side."""
        return {"lock": self.lock.servers, "storage": self.storage.servers}

    @property
    def storage_servers(self) -> tuple[str, ...]:
        """The names of the servers that the storage is on, also where they are the lock's."""
        shared = isinstance(self.storage, EtcdStorage) and self.storage.is_in_the_lock
        return self.lock.servers if shared else self.storage.servers

    @property
    def most_writes(self) -> int:
        """The most writes of one hold; a strict fence refuses a holder's second."""
        if self.storage.policy == "strict":
            return 1
        return self.workload.writes or 3
