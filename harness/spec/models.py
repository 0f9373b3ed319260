"""The models of a target file, its workload and its client program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from checkers.history.records import DEFAULT_REQUIRE
from harness.core.duration import NS
from harness.core.fields import STRICT, Duration, at_most
from harness.nemesis.faults import FaultSpec
from harness.nemesis.reach import ServersOfSides
from harness.spec.bench import BenchSpec
from harness.spec.fields import NAME_PATTERN, Anomalies, Expectation, Minima
from harness.spec.locks import LockSpec
from harness.spec.storages import StorageSpec


class WorkloadSpec(BaseModel):
    """What the clients do."""

    model_config = STRICT

    kind: Literal["register", "append", "run"] = "register"
    """register: acquire, write values that are unique in the run, read, release.
    append: acquire, read a list and write it back with one more element, read, release.
    run: take a job from a queue, write its result, complete it."""
    clients: Annotated[int, Field(ge=2, le=200)] = 5
    """The number of clients, each an operating-system process."""
    resources: Annotated[int, Field(ge=1, le=1000)] = 2
    """The number of locked and written resources: r0, r1, …; in the workload run, of queues: q0, q1, …"""
    duration: Annotated[Duration, at_most(24 * NS["h"], "24h")] = Field(
        20 * NS["s"], json_schema_extra={"default": "20s"}
    )
    """How long the clients work."""
    writes: Annotated[int, Field(ge=1, le=3)] | None = None
    """The maximum number of writes per held lock: 1 under the policy strict, otherwise 3 by default."""
    think: Duration = Field(20 * NS["ms"], json_schema_extra={"default": "20ms"})
    """The maximum think time between two steps; each is drawn from the seed."""
    every: Annotated[Duration, at_most(NS["h"], "1h")] = Field(
        300 * NS["ms"], json_schema_extra={"default": "300ms"}
    )
    """How often a job becomes due on each queue (workload run only)."""
    timeout: Annotated[Duration, at_most(NS["m"], "1m")] = Field(NS["s"], json_schema_extra={"default": "1s"})
    """How long a client waits for each answer; then the outcome is unknown to it."""

    @property
    def is_of_jobs(self) -> bool:
        """Do the clients execute jobs?"""
        return self.kind == "run"

    @property
    def challenges(self) -> Mapping[str, int]:
        """How hard a run must try to be valid, unless [require] says otherwise."""
        return (
            {"stale_writes_attempted": 0, "executions_past_lease": 1} if self.is_of_jobs else DEFAULT_REQUIRE
        )


def _names_a_program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command:
        raise ValueError("must not be empty")
    return command


Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], AfterValidator(_names_a_program)]


class ClientSpec(BaseModel):
    """Your own program as the client: it speaks the line protocol of docs/adapters.md."""

    model_config = STRICT

    command: Words = Field(json_schema_extra={"minItems": 1})
    """The program and its arguments, started in the current folder."""
    side: Literal["both", "lock", "storage", "queue"] = "both"
    """What the program does; Fencepost's own client, or a class of yours, does the other side.
    queue: it executes jobs, with the servers of [lock] (workload run only)."""

    @property
    def sides(self) -> frozenset[str]:
        """The sides that the program does."""
        return sides_of(self.side)


Vary = Annotated[
    Mapping[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]},
            "examples": [{"lock.ttl": ["2s", "3s"], "workload.clients": [3, 5, 8]}],
        }
    ),
]


class Target(BaseModel):
    """One test case: a lock service, a storage, a workload and faults."""

    model_config = STRICT

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """The name of the folder of its runs."""
    expected: Expectation = Field(alias="expect")
    """"valid", or the anomalies that must be found."""
    may: Anomalies = ()
    """Anomalies that may come with the expected ones."""
    lock: LockSpec
    storage: StorageSpec
    client: ClientSpec | None = None
    workload: WorkloadSpec = Field(default_factory=WorkloadSpec)
    faults: tuple[FaultSpec, ...] = ()
    overlap: bool = True
    """May several faults be in force on one side (the clients, the lock service, the storage)?"""
    require: Minima = Field(default_factory=dict, validate_default=True)
    """The minimum counts of challenges for a run to be valid."""
    bench: BenchSpec = Field(default_factory=BenchSpec)
    """What `fencepost bench` must measure."""
    vary: Vary = Field(default_factory=dict)
    """Dotted keys, each with a list of values: every run draws one value of each from its seed."""
    reuse: bool | None = Field(None, json_schema_extra={"type": "boolean"})
    """May runs of a campaign have servers one after another? Without it, as the campaign file says."""

    _source: str = PrivateAttr(default="")

    @field_validator("require")
    @classmethod
    def _with_the_challenges_of_the_workload(
        cls, minima: dict[str, int], earlier: ValidationInfo
    ) -> dict[str, int]:
        workload = earlier.data.get("workload", WorkloadSpec())  # absent if it is invalid
        return {**workload.challenges, **minima}

    @property
    def source(self) -> str:
        """The TOML text that this target was read from, with the changes of `--set`."""
        return self._source

    @property
    def program_sides(self) -> frozenset[str]:
        """The sides that the program of [client] does."""
        return self.client.sides if self.client else frozenset()

    @property
    def fenced(self) -> bool:
        """Does the storage claim to be fenced?"""
        return self.storage.fencing != "none"

    @property
    def sides(self) -> ServersOfSides:
        """The names of the servers of each side."""
        return {"lock": self.lock.servers, "storage": self.storage.servers}

    @property
    def storage_servers(self) -> tuple[str, ...]:
        """The names of the storage's servers, even if they are the lock's."""
        return self.lock.servers if self.storage.is_in_the_lock else self.storage.servers

    @property
    def most_writes(self) -> int:
        """The maximum number of writes per held lock; a strict fence refuses a holder's second one."""
        if self.storage.policy == "strict":
            return 1
        return self.workload.writes or 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of one file; an invalid one is None or absent."""

    lock: LockSpec | None = None
    storage: StorageSpec | None = None
    program_sides: frozenset[str] = (
        frozenset()
    )  # "lock", "storage", "queue": what the program of [client] does
    workload: WorkloadSpec | None = None
    expected: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    faults: dict[int, FaultSpec] = field(default_factory=dict)
    wrong: frozenset[int] = frozenset()  # faults with errors; some are in `faults`, with another target
    overlap: bool = True
    holds: bool = False  # expect is "valid"
    kinds: frozenset[str] | None = frozenset()  # of all faults, including invalid ones; None: unknown
    require: Mapping[str, int] = field(default_factory=dict)  # as the file has it, without the default

    def others(self, index: int) -> Iterator[FaultSpec]:
        """Yield all faults without errors, but one."""
        return (fault for n, fault in self.faults.items() if n != index and n not in self.wrong)


def program_sides_of(client: object) -> frozenset[str]:
    """Return the sides that a program does; both, if the section does not say it correctly."""
    if client is None:
        return frozenset()
    return sides_of(client.get("side") if isinstance(client, dict) else None)


def sides_of(side: object) -> frozenset[str]:
    """Return the sides that a program with this `side` does; a queue is in the place of the lock."""
    if side == "queue":
        return frozenset(("lock", "queue"))
    return frozenset((str(side),) if side in ("lock", "storage") else ("lock", "storage"))
