"""Field types and kinds of target files; `harness.core.fields` has those of durations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from checkers.text.limits import SHORTEST_LEASE
from checkers.text.nearest import repeated
from checkers.vocabulary.anomalies import ANOMALIES, VIOLATIONS
from checkers.vocabulary.counts import COVERAGE, counted
from checkers.vocabulary.hazards import CELLS
from harness.core.duration import NS
from harness.core.fields import BYTES, Duration, Size, at_most, shown_size
from harness.core.suggestions import did_you_mean
from harness.engines.built_images import is_ours, our_images
from harness.nemesis.faults import FAULTS

EXPECTABLE = tuple(name for name in ANOMALIES if name in VIOLATIONS)
"""The anomalies that may be expected; the others are only counted and make no run invalid."""
HAZARDS = "hazards"
"""The name in [require] of how many dangerous moments a run must have seen; "all" are as many as possible."""
COUNTS: Mapping[str, str] = COVERAGE | {
    name: counted(name) for fault in FAULTS.values() for name in fault.counts if name not in COVERAGE
}
"""What [require] may count, and what each is."""

MOST_REQUIRED = 10**9
LEAST_MEMORY = 8 * BYTES["MB"]  # Docker takes no less than 6 MiB
MOST_MEMORY = BYTES["TB"]

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
IMAGE_PATTERN = r"^\S+$"
ETCD_RELEASE_PATTERN = r"^3\.([5-9]|[1-9][0-9])\.[0-9]{1,3}$"
KUBERNETES_RELEASE_PATTERN = r"^1\.(3[1-9]|[4-9][0-9])\.[0-9]{1,3}$"
NATS_RELEASE_PATTERN = r"^2\.(1[0-9]|[2-9][0-9])\.[0-9]{1,3}$"
VERSITYGW_RELEASE_PATTERN = r"^1\.[0-9]{1,3}\.[0-9]{1,3}$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
CLASS_PATTERN = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
PATTERNS = {
    NAME_PATTERN: "must be 1 to 80 letters, digits, dots, underscores or hyphens, a letter or digit first",
    CLASS_PATTERN: 'must be "package.module:Class"',
    VARIABLE_PATTERN: 'must be the name of an environment variable, such as "PGPASSWORD"',
    ETCD_RELEASE_PATTERN: 'must be a release of etcd from 3.5.0, such as "3.6.7"',
    KUBERNETES_RELEASE_PATTERN: 'must be a release of Kubernetes from 1.31.0, such as "1.34.4"',
    NATS_RELEASE_PATTERN: 'must be a release of NATS from 2.10.0, such as "2.12.1"',
    VERSITYGW_RELEASE_PATTERN: 'must be a release of versitygw, such as "1.8.0"',
    IMAGE_PATTERN: 'must be the name of an image, without spaces, such as "postgres:18"',
}
"""The meaning of each pattern, in words."""
URL_PATTERN = r"^http://[^\s/?#@]+(/[^\s?#]*)?$"
EXAMPLE_OF_URL = "http://127.0.0.1:8420"
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
    return {
        kind: model
        for model in get_args(union)
        for kind in get_args(model.model_fields["kind"].annotation) or (OWN,)
    }


def selected_by_kind(union: object) -> object:
    """Annotate a union of models, so that a section is validated only by the model that its kind selects."""
    tagged = tuple(Annotated[model, Tag(kind)] for kind, model in models_by_kind(union).items())
    return Annotated[Union[tagged], Discriminator(kind_of)]  # noqa: UP007 - `|` needs the members one by one


def known_image(name: str) -> str:
    """Return the name of an image; ValueError if it claims to be one of ours but is not."""
    if is_ours(name) and ":" not in name and name not in our_images():
        raise ValueError(f"Fencepost has no image {name}{did_you_mean(name, our_images())}")
    return name


def known_anomalies(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names; ValueError if one is not an anomaly's, or is repeated."""
    return _known("anomaly", names, EXPECTABLE)


def known_coverage(name: str) -> str:
    """Return the name; ValueError if it is not a coverage count."""
    return _known("coverage", (name,), (*COUNTS, HAZARDS))[0]


def _known(what: str, names: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    wrong = [f"unknown {what} {name}{did_you_mean(name, known)}" for name in names if name not in known]
    wrong += [f"{name} is repeated" for name in repeated(names)]
    if wrong:
        raise ValueError(" And ".join(wrong))
    return names


def _leads_to_a_service(text: str) -> str:
    """Allow only an address and a path prefix: anything else would be ignored."""
    parts = urlsplit(text)
    try:
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        has_port = False
    is_plain = text == f"http://{parts.netloc}{parts.path}" and "@" not in parts.netloc
    if not (has_port and parts.hostname and is_plain and text.isascii() and " " not in text):
        raise ValueError(f'must be such as "{EXAMPLE_OF_URL}", with a path if the service has one')
    return text


def endpoint(url: str) -> str:
    """Return host, port and path, without the scheme."""
    return url.removeprefix("http://")


def _expectation(value: object) -> tuple[str, ...]:
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
KubernetesRelease = Annotated[str, Field(pattern=KUBERNETES_RELEASE_PATTERN)]
NatsRelease = Annotated[str, Field(pattern=NATS_RELEASE_PATTERN)]
VersitygwRelease = Annotated[str, Field(pattern=VERSITYGW_RELEASE_PATTERN)]
Image = Annotated[str, Field(pattern=IMAGE_PATTERN), AfterValidator(known_image)]
Url = Annotated[
    str,
    AfterValidator(_leads_to_a_service),
    WithJsonSchema({"type": "string", "pattern": URL_PATTERN, "examples": [EXAMPLE_OF_URL]}),
]

DEFAULT_TTL = 2 * NS["s"]
_AN_HOUR = at_most(NS["h"], "1h")
_DEFAULT = Field(json_schema_extra={"default": "2s"})  # of a field whose own default is in ns


def _whole(unit: int, units: str, *, least: int, shortest: str) -> AfterValidator:
    """Allow whole units from a least number on; both are in ns, and in the words of an error."""

    def check(ttl: int) -> int:
        if ttl < least:
            raise ValueError(f"must be at least {shortest}")
        if ttl % unit:
            raise ValueError(f"must be whole {units}")
        return ttl

    return AfterValidator(check)


def _seconds(leases: str, why: str) -> AfterValidator:
    """Allow whole seconds from two on, with the reasons for both."""
    return _whole(NS["s"], f"seconds, as {leases} are", least=2 * NS["s"], shortest=f"2s: {why}")


Ttl = Annotated[Duration, _AN_HOUR, _DEFAULT]
MillisecondsTtl = Annotated[
    Duration, _whole(NS["ms"], "milliseconds", least=SHORTEST_LEASE, shortest="100ms"), _AN_HOUR, _DEFAULT
]
EtcdTtl = Annotated[Duration, _seconds("etcd's leases", "etcd grants no shorter lease"), _AN_HOUR, _DEFAULT]
_HEARTBEATS = _seconds("Hazelcast's sessions", "clients of Hazelcast send a heartbeat each second")
HazelcastTtl = Annotated[Duration, _HEARTBEATS, _AN_HOUR, _DEFAULT]
LeaseTtl = Annotated[
    Duration, _seconds("Leases of Kubernetes", "its leader has to renew it in time"), _AN_HOUR, _DEFAULT
]
_IDLE = _whole(NS["s"], "seconds, as MariaDB's wait_timeout is", least=NS["s"], shortest="1s")
SessionTtl = Annotated[Duration, _IDLE, _AN_HOUR, _DEFAULT]
_OUTLIVES = "1s: a shorter session does not outlive its heartbeats"
ZookeeperTtl = Annotated[
    Duration, _whole(NS["ms"], "milliseconds", least=NS["s"], shortest=_OUTLIVES), _AN_HOUR, _DEFAULT
]
