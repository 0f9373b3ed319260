"""Field types and kinds of target files; `harness.core.fields` has those of durations."""

from __future__ import annotations

from typing import Annotated, Any, Union, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from checkers.history.records import DEFAULT_REQUIRE
from checkers.vocabulary.hazards import CELLS
from harness.core.fields import Size
from harness.core.size import BYTES, shown_size
from harness.spec.names import COUNTS, EXPECTABLE, HAZARDS, known_anomalies, known_coverage, known_image

MOST_REQUIRED = 10**9
LEAST_MEMORY = 8 * BYTES["MB"]  # Docker takes no less than 6 MiB
MOST_MEMORY = BYTES["TB"]

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
IMAGE_PATTERN = r"^\S+$"
ETCD_RELEASE_PATTERN = r"^3\.([5-9]|[1-9][0-9])\.[0-9]{1,3}$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
CLASS_PATTERN = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
OWN = "<module:Class>"
"""The placeholder for a user's class among the names of kinds."""
PROGRAM = "client"
"""The kind of a lock or storage that the program of [client] brings itself."""


def kind_of(section: object) -> str | None:
    """Return the kind that selects a section's model."""
    kind = section.get("kind") if isinstance(section, dict) else getattr(section, "kind", None)
    return OWN if isinstance(kind, str) and ":" in kind else kind


def models_by_kind(union: object) -> dict[str, type[Any]]:
    """Map the kinds of each model of a union to the model; `OWN` is that of a user's class."""
    return {kind: model for model in get_args(union) for kind in _kinds_of_model(model)}


def selected_by_kind(union: object) -> object:
    """Annotate a union of models, so that a section is validated only by the model that its kind selects."""
    tagged = tuple(Annotated[model, Tag(kind)] for kind, model in models_by_kind(union).items())
    return Annotated[Union[tagged], Discriminator(kind_of)]  # noqa: UP007 - `|` needs the members one by one


def _kinds_of_model(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation) or (OWN,)


def _expectation(value: object) -> tuple[str, ...]:
    """Parse an expectation; `"valid"` expects no anomaly."""
    if value == "valid":
        return ()
    if isinstance(value, tuple) and value and all(isinstance(name, str) for name in value):
        return known_anomalies(value)
    raise ValueError('must be "valid", or a list of anomalies that must be found, such as ["stale-write"]')


def _is_a_limit_that_docker_takes(memory: int) -> int:
    if not LEAST_MEMORY <= memory <= MOST_MEMORY:
        raise ValueError(f"must be from {shown_size(LEAST_MEMORY)} to 1TB")
    return memory


def _with_all_counted(minima: object) -> object:
    """Replace "all" hazards by more than any target can produce."""
    if isinstance(minima, dict) and minima.get(HAZARDS) == "all":
        return minima | {HAZARDS: len(CELLS)}
    return minima


def _with_default_require(minima: dict[str, int]) -> dict[str, int]:
    return DEFAULT_REQUIRE | minima


NAMES_SCHEMA = {"type": "array", "items": {"enum": list(EXPECTABLE)}, "uniqueItems": True}

Expectation = Annotated[
    tuple[str, ...],
    BeforeValidator(_expectation),
    WithJsonSchema({"anyOf": [{"const": "valid"}, NAMES_SCHEMA | {"minItems": 1}]}),
]
Anomalies = Annotated[tuple[str, ...], AfterValidator(known_anomalies), WithJsonSchema(NAMES_SCHEMA)]
Minima = Annotated[
    dict[Annotated[str, AfterValidator(known_coverage)], Annotated[int, Field(ge=0, le=MOST_REQUIRED)]],
    BeforeValidator(_with_all_counted),
    AfterValidator(_with_default_require),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                name: {"type": "integer", "minimum": 0, "maximum": MOST_REQUIRED, "description": what}
                for name, what in COUNTS.items()
            }
            | {
                HAZARDS: {
                    "anyOf": [{"const": "all"}, {"type": "integer", "minimum": 0, "maximum": MOST_REQUIRED}],
                    "description": 'dangerous moments that faults have hit: a number, or "all" possible ones',
                }
            },
            "additionalProperties": False,
        }
    ),
]
Memory = Annotated[Size, AfterValidator(_is_a_limit_that_docker_takes)]
EtcdRelease = Annotated[str, Field(pattern=ETCD_RELEASE_PATTERN)]
Image = Annotated[str, Field(pattern=IMAGE_PATTERN), AfterValidator(known_image)]
