"""Errors in target files, in the file's own terms: place, key, value, and the allowed values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from checkers.text.nearest import nearest
from checkers.text.printable import shorten, without_passwords
from checkers.text.redaction import HIDDEN, names_a_password
from harness.core.suggestions import did_you_mean
from harness.nemesis.faults import FAULTS
from harness.spec.bench import BenchSpec
from harness.spec.fields import HAZARDS, OWN, PATTERNS, kind_of
from harness.spec.locks import LOCKS
from harness.spec.models import ClientSpec, Target, WorkloadSpec
from harness.spec.passwords import REMEDIES, needless
from harness.spec.storages import STORAGES
from harness.spec.toml import Key

KINDS: Mapping[Any, Mapping[Any, type[BaseModel]]] = {"lock": LOCKS, "storage": STORAGES, "faults": FAULTS}
"""The sections with kinds, each of which has its own keys."""

TABLE = "must be a table: write its name in brackets, and its keys below"
WORDS = {
    "missing": "is missing",
    "bool_type": "must be true or false, without quotes",
    "int_type": "must be a whole number without quotes, such as 3",
    "float_type": "must be a number without quotes, such as 0.5",
    "string_type": 'must be a text in quotes: "…"',
    "date_type": "must be a date without quotes, such as 2027-01-31",
    "model_type": TABLE,
    "dict_type": TABLE,
    "union_tag_not_found": TABLE,
    "model_attributes_type": TABLE,
    "tuple_type": 'must be a list in brackets, such as ["a", "b"]',
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}
"""The meaning of pydantic's errors, in target and campaign files."""

WORDS_OF_FAULTS = {
    "model_attributes_type": "must be a table, such as [[faults]]",
    "union_tag_not_found": "must be a table, such as [[faults]]",
    "tuple_type": "must be a list of tables: write [[faults]], in two brackets, above each",
}

EXAMPLE = "module:Class"
"""A kind that stands for every class of the user's."""
MISSING = object()
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One error."""

    key: Key
    what: str
    data: Mapping[str, Any]  # the whole file; the value is shown from it

    @property
    def hidden(self) -> bool:
        """Is its value a password?"""
        return self.what in REMEDIES or any(names_a_password(str(part)) for part in self.key)

    def __str__(self) -> str:
        path = ".".join(shorten(str(part), LONGEST_VALUE) for part in self.key)
        value = _at(self.data, self.key)
        if value is MISSING or isinstance(value, dict):
            shown = ""
        else:
            text = json.dumps(value, default=str, ensure_ascii=False)
            shown = f" = {HIDDEN if self.hidden else without_passwords(text, LONGEST_VALUE)}"
        return f"{path}{shown}: {self.what}" if path else self.what


def report(problems: Iterable[Problem], place: Callable[[Key], str]) -> list[str]:
    """Return one line for each problem, in the file's order."""
    lines = [(place(problem.key), str(problem)) for problem in problems]
    return [f"{where}: {problem}" for where, problem in sorted(lines, key=_by_line)]


def problems_of(error: ValidationError, data: Mapping[str, Any]) -> list[Problem]:
    """Convert pydantic's errors to our own wording."""
    details = error.errors(include_url=False)
    kindless = [inner for detail in details for inner in _of_no_kind(detail)]
    return [
        Problem(key, _what(detail, key, data), data)
        for detail in (*details, *kindless)
        for key in [_key(detail["loc"], detail["type"])]
    ]


def in_words(detail: ErrorDetails, words: Mapping[str, str] = WORDS) -> str:
    """Say what must change, for an error that is described by its type alone."""
    context = detail.get("ctx", {})
    match detail["type"]:
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "value_error":
            return str(context["error"])
    return words.get(detail["type"], detail["msg"].replace("Input should be", "must be"))


def keys_of(*models: type[BaseModel]) -> list[str]:
    """Return the keys of sections as a file writes them."""
    names = (known.alias or name for model in models for name, known in model.model_fields.items())
    return list(dict.fromkeys(names))


def _of_no_kind(detail: ErrorDetails) -> Iterator[ErrorDetails]:
    """Yield what else is wrong in a section of unknown kind: for the nearest kind, or else for every one."""
    given, section = detail["input"], detail["loc"]
    if not detail["type"].startswith("union_tag_") or not isinstance(given, Mapping):
        return
    models = KINDS[section[0]]
    near = nearest(str(given.get("kind")), models)
    kinds = [near] if near else list(models)
    each = [_errors(models[kind], {**given, "kind": EXAMPLE if kind == OWN else kind}) for kind in kinds]
    for loc, error in each[0].items():
        if all(loc in errors for errors in each):
            shown = next((errors[loc] for errors in each if errors[loc]["type"] != "extra_forbidden"), error)
            yield {**shown, "loc": (*section, kinds[0], *loc)}


def _errors(model: type[BaseModel], data: Mapping[str, Any]) -> dict[Key, ErrorDetails]:
    try:
        model.model_validate(data)
    except ValidationError as error:
        return {detail["loc"]: detail for detail in error.errors(include_url=False)}
    return {}


def _by_line(line: tuple[str, str]) -> tuple[str, int]:
    file, _, number = line[0].rpartition(":")
    return (file, int(number)) if number.isdigit() else (line[0], 0)


def _key(loc: Key, type_: str) -> Key:
    """Drop pydantic's additions: a section's kind ("faults", 0, "pause", "at"), and "[key]" after a name."""
    if type_ == "union_tag_invalid":
        return (*loc, "kind")
    if loc[-1:] == ("[key]",):
        return loc[:-1]
    kind = 2 if loc[:1] == ("faults",) else 1
    if len(loc) > kind and loc[kind] in KINDS.get(loc[0], {}):
        return (*loc[:kind], *loc[kind + 1 :])
    return loc


def _what(detail: ErrorDetails, key: Key, data: Mapping[str, Any]) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            why = needless(key, data)
            hint = f"; {why}" if why else did_you_mean(str(key[-1]), _keys(key[:-1], data))
            return f"unknown key in {_section_name(key)}{hint}"
        case "union_tag_not_found" if isinstance(detail["input"], Mapping):
            return f"has no kind; there are: {', '.join(KINDS[key[0]])}"
        case "union_tag_invalid":
            return f"there is no such kind{did_you_mean(context['tag'], KINDS[key[0]])}"
        case "literal_error":
            allowed = re.findall(r"'([^']*)'", context["expected"])
            near = did_you_mean(str(detail["input"]), allowed)
            hint = near if "did you mean" in near and len(allowed) > 1 else ""
            return f"must be {context['expected']}".replace("'", '"') + hint
        case "missing" if key == ("name",):
            return 'is missing, such as name = "mylock"'
        case "int_type" if key == ("require", HAZARDS):
            return 'must be a number, or "all"'
        case "string_pattern_mismatch":
            return PATTERNS[context["pattern"]]
    is_fault = key[:1] == ("faults",) and len(key) <= 2  # noqa: PLR2004 - "faults" and its number
    return in_words(detail, WORDS | WORDS_OF_FAULTS if is_fault else WORDS)


_WITHOUT_KINDS: Mapping[str, type[BaseModel]] = {
    "bench": BenchSpec,
    "client": ClientSpec,
    "workload": WorkloadSpec,
}


def _section_name(key: Key) -> str:
    section = [str(part) for part in key[:-1]]
    return "a target" if not section else f"[{section[0]}]" if len(section) == 1 else "this fault"


def _keys(section: Key, data: Mapping[str, Any]) -> list[str]:
    if not section:
        models: Iterable[type[BaseModel]] = (Target,)
    elif section[0] in KINDS:
        kinds, kind = KINDS[section[0]], kind_of(_at(data, section))
        models = (kinds[kind],) if isinstance(kind, str) and kind in kinds else kinds.values()
    else:
        models = (_WITHOUT_KINDS[str(section[0])],)
    return keys_of(*models)


def _at(data: Any, key: Key) -> Any:
    for part in key:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return data
