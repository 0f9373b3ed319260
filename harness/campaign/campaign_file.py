"""Campaign files: what is run every night, for how long, and which failures are known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, WithJsonSchema, model_validator
from pydantic_core import ErrorDetails

from harness.core.duration import DURATION_PATTERN, NS, parse_duration
from harness.core.errors import ConfigurationError
from harness.core.fields import STRICT, Duration, Size, Words
from harness.core.suggestions import did_you_mean
from harness.report.first_finding import FINGERPRINT_PATTERN
from harness.spec.fields import NAME_PATTERN, PATTERNS
from harness.spec.file_errors import Problem, in_words, keys_of, report
from harness.spec.reading import Document, frozen, parse
from harness.spec.toml import Key

Faults = tuple[dict[str, Any], ...]

_SUPERSEDED = {"kind": "pause", "target": "holder", "at": "before-write", "until": "superseded"}
_GRANTED = _SUPERSEDED | {"at": "granted"}
"""Left out if the lock service grants with a complete answer."""

FAULT_SETS: Mapping[str, Faults] = {
    "pause": (_SUPERSEDED, _SUPERSEDED, _GRANTED),
    "pause-write-sent": (
        _SUPERSEDED,
        {"kind": "pause", "target": "holder", "at": "write-sent", "lasts": "1.5 ttl"},
    ),
    "partition-lock": (
        {"kind": "partition", "target": "holder", "from": "lock", "every": "8s", "lasts": "2 ttl"},
        _SUPERSEDED,
    ),
    "partition-storage": (
        {"kind": "partition", "target": "holder", "from": "storage", "every": "8s", "lasts": "1s"},
        _SUPERSEDED,
    ),
    "delay-write": (
        {"kind": "delay", "target": "holder", "to": "both", "at": "before-write", "until": "superseded"},
        _SUPERSEDED,
    ),
    "pause-storage": (
        {"kind": "pause", "target": "storage", "every": "8s", "lasts": "1s"},
        _SUPERSEDED,
        _SUPERSEDED,
    ),
    "stop": ({"kind": "stop", "target": "holder", "every": "5s"}, _SUPERSEDED, _SUPERSEDED),
    "kill-lock": ({"kind": "kill", "target": "lock", "lasts": "1s"}, _SUPERSEDED, _SUPERSEDED),
    "kill-storage": (
        {"kind": "kill", "target": "storage", "every": "10s", "lasts": "1s"},
        _SUPERSEDED,
        _SUPERSEDED,
    ),
}
"""What a matrix means by each name, as [[faults]]; with a pause as well: without one, no write is stale."""


def without_granted(faults: Faults) -> Faults:
    """Leave out the stop point that a lock with complete answers never reaches."""
    return tuple(fault for fault in faults if fault != _GRANTED)


SHRINKING = 5 * NS["m"]
MOST_REPEATS = 1000
MOST_WORKERS = 64
PATTERNS_HERE = PATTERNS | {
    FINGERPRINT_PATTERN: "must be as `campaign` prints it: a number, a dash, and 12 hexadecimal digits"
}


def _workers(value: object) -> int | None:
    """How many, or None for "auto"."""
    if value == "auto":
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_WORKERS:
        return value
    raise ValueError(f'must be "auto", or a number from 1 to {MOST_WORKERS}')


Workers = Annotated[
    int | None,
    BeforeValidator(_workers),
    WithJsonSchema(
        {"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": MOST_WORKERS}]}
    ),
]


def _keep(value: object) -> object:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if is_count or (isinstance(value, str) and value in {"all", "failures"}):
        return value
    raise ValueError('must be "all", "failures", or a number of passed runs of each cell')


def _shrink(value: object) -> int | None:
    """How long it may take (ns), or None for false."""
    if isinstance(value, bool):
        return SHRINKING if value else None
    try:
        return parse_duration(value)
    except ValueError:
        raise ValueError('must be true or false without quotes, or the longest time, such as "10m"') from None


def _canary(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, str) and value):
        return value
    raise ValueError("must be true or false, or the name of a planted bug; `fencepost zoo` runs all")


CanaryField = Annotated[
    bool | str,
    BeforeValidator(_canary),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"minLength": 1, "type": "string"}]}),
]
ShrinkField = Annotated[
    int | None,
    BeforeValidator(_shrink),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": DURATION_PATTERN}]}),
]
KeepField = Annotated[
    Literal["all", "failures"] | int,
    BeforeValidator(_keep),
    WithJsonSchema({"anyOf": [{"enum": ["all", "failures"]}, {"type": "integer", "minimum": 0}]}),
]


class Cells(BaseModel):
    """Targets that are run as they are."""

    model_config = STRICT

    targets: Words
    """Names of shipped targets, patterns such as "etcd-*", files, folders, and patterns of files."""


class Exclusion(BaseModel):
    """Combinations of a matrix that are left out: those that match every key given."""

    model_config = STRICT

    lock: str | None = None
    storage: str | None = None
    faults: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Exclusion:
        if not any((self.lock, self.storage, self.faults)):
            raise ValueError("excludes nothing: give lock, storage or faults")
        return self


class Matrix(BaseModel):
    """Every combination of a lock service, a storage and a fault set."""

    model_config = STRICT

    lock: Words
    """Lock services, such as "etcd"."""
    storage: Words
    """Storages with their fencing, such as "postgres:conditional-update" or "redis:none"."""
    faults: Words = ("pause",)
    """Fault sets by name."""
    exclude: tuple[Exclusion, ...] = ()


class Quarantine(BaseModel):
    """A known failure that does not turn a night red until a day has passed."""

    model_config = STRICT

    fingerprint: Annotated[str, Field(pattern=FINGERPRINT_PATTERN)]
    reason: Annotated[str, Field(min_length=1)]
    until: dt.date
    """The last day on which it is skipped."""

    def __str__(self) -> str:
        return f"quarantined until {self.until}: {self.reason}"


class Campaign(BaseModel):
    """What a night runs."""

    model_config = STRICT

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """Names the folder of its nights."""
    budget: Duration | None = Field(None, json_schema_extra={"default": None})
    """A run starts only if it will end within this time."""
    workers: Workers = Field(None, json_schema_extra={"default": "auto"})
    """Runs at once; auto: by cores and memory."""
    repeat: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = 1
    """Runs of each cell, each with a new seed."""
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] | None = None
    """In place of `repeat`: a run of each cell with each of these seeds."""
    changes: tuple[str, ...] = Field((), alias="set")
    """Settings to change in every target, such as "workload.duration=60s"."""
    canary: CanaryField = True
    """A planted bug of the zoo that is run with its twin, and must be found; true: another one each day."""
    corpus: Annotated[str, Field(min_length=1)] | None = None
    """The folder of a corpus: a cell of the same name first runs with the seeds stored there."""
    keep: KeepField = "all"
    """Run folders that are kept whole: all, those of failures, or also the last passed runs of each cell."""
    keep_size: Size | None = Field(None, json_schema_extra={"default": None})
    """Above this size, the oldest passed runs are reduced, too."""
    shrink: ShrinkField = Field(None, json_schema_extra={"default": False})
    """Shrink one run of each new fingerprint, for this long at most; true: 5m."""
    reuse: bool = False
    """May runs use the same servers one after another, if a clean state can be proven?
    A target's own `reuse` overrides this."""
    cells: tuple[Cells, ...] = ()
    matrix: tuple[Matrix, ...] = ()
    quarantine: tuple[Quarantine, ...] = ()

    _document: Document | None = None

    def at(self, key: Key, what: str) -> str:
        """Return a sentence about a value, with its place if the campaign was read from a file."""
        if self._document is None:
            return what
        return report([Problem(key, what, self._document.data)], self._document.place)[0]

    @model_validator(mode="after")
    def _selects_something(self) -> Campaign:
        if not self.cells and not self.matrix:
            raise ValueError("selects nothing to run: add [[cells]] with targets, or a [[matrix]]")
        if self.seeds is not None and "repeat" in self.model_fields_set:
            raise ValueError("seeds and repeat exclude each other: give one of them")
        return self


SECTIONS: Mapping[str, type[BaseModel]]
SECTIONS = {"cells": Cells, "matrix": Matrix, "exclude": Exclusion, "quarantine": Quarantine}


def load(file: Path) -> Campaign:
    """Read a campaign file. Raises ConfigurationError, whose message names everything that is wrong."""
    document = parse(file)
    try:
        campaign = Campaign.model_validate(frozen(document.data))
    except ValidationError as error:
        details = error.errors(include_url=False)
        wrong = [tuple(detail["loc"]) for detail in details]
        problems = [
            Problem(key, _what(detail, document.data), document.data)
            for key, detail in zip(wrong, details, strict=True)
            if not any(inner[: len(key)] == key != inner for inner in wrong)  # a list without its wrong items
        ]
        raise ConfigurationError(*report(problems, document.place)) from None
    unknown = [
        Problem(
            ("matrix", at, "faults", index),
            f"no such fault set{did_you_mean(name, FAULT_SETS)}",
            document.data,
        )
        for at, matrix in enumerate(campaign.matrix)
        for index, name in enumerate(matrix.faults)
        if name not in FAULT_SETS
    ]
    if unknown:
        raise ConfigurationError(*report(unknown, document.place))
    campaign._document = document  # noqa: SLF001 (no key of the file, so no field)
    return campaign


def _what(detail: ErrorDetails, data: Mapping[str, Any]) -> str:
    """Describe an error in words of the file."""
    key: Key = tuple(detail["loc"])
    if key and key[0] in SECTIONS and isinstance(data.get(str(key[0])), dict):
        return f"must be a list of tables: write [[{key[0]}]], in two brackets"
    match detail["type"]:
        case "extra_forbidden":
            section = next((part for part in reversed(key[:-1]) if isinstance(part, str)), None)
            model = SECTIONS[section] if section else Campaign
            where = f"[[{section}]]" if section else "a campaign"
            return f"unknown key in {where}{did_you_mean(str(key[-1]), keys_of(model))}"
        case "string_pattern_mismatch":
            return PATTERNS_HERE[detail["ctx"]["pattern"]]
        case "tuple_type" if key == ("seeds",):
            return "must be a list in brackets, such as [1, 2]"
        case "model_type" | "model_attributes_type":
            return f"must be a table: write [[{key[0]}]], in two brackets, above each"
    return in_words(detail)
