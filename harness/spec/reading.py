"""Finding and reading target files, and reporting all their errors together."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from checkers.history.files import read_bytes
from checkers.text.errors import HistoryError
from checkers.text.nearest import nearest
from checkers.text.printable import shorten, without_passwords
from harness.core.errors import ConfigurationError
from harness.core.paths import as_seen_from_here, path_of, shipped_files
from harness.core.suggestions import near_or
from harness.nemesis.faults import FAULTS, FaultSpec
from harness.spec.contradictions import contradictions
from harness.spec.fields import HAZARDS
from harness.spec.file_errors import Problem, problems_of, report
from harness.spec.hazards import too_many_required
from harness.spec.locks import LockSpec
from harness.spec.models import Sections, Target, WorkloadSpec, program_sides_of
from harness.spec.overrides import key_of, override_one
from harness.spec.passwords import literal_passwords
from harness.spec.storages import StorageSpec
from harness.spec.toml import (
    Key,
    TooBigError,
    as_dotted,
    changed_in,
    head_comment,
    lines_of_keys,
    literal,
    loads,
    with_changes,
)
from harness.spec.vary import draw, keep_fixed, problems_of_vary, varied

MAX_SIZE = 1 << 16  # bytes
"""The maximum size of a target file."""
TOO_LONG = "a target or a campaign is never that long"
_BOM = "\ufeff"  # some editors write one
MOMENTS = {"at": "before-write", "until": "superseded"}
"""Those that fit any target, in place of wrong ones."""
SHORT = {"every": "2ms", "lasts": "1ms"}
"""Lengths that fit any target and any run."""
LISTED = "`fencepost targets` lists all"
_KEYS = r"\(('[^']*'(, |,?(?=\))))+\)"  # of a table, as Python writes a tuple


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file with the changes of the command line."""

    file: str
    text: str
    data: dict[str, Any]
    lines: dict[Key, int]
    overridden: dict[Key, str]  # key → the option that set it

    def place(self, key: Key) -> str:
        """Return the place of a key, or where it would be: `file:line`, or the option."""
        if key and key not in self.lines:
            for changed, option in self.overridden.items():
                if changed[: len(key)] == key:  # the option set it
                    return f"--set {option}"
        for length in range(len(key), 0, -1):
            nearest = key[:length]
            if nearest in self.overridden:
                return f"--set {self.overridden[nearest]}"
            if nearest in self.lines:
                return f"{self.file}:{self.lines[nearest]}"
        return self.file

    def source(self) -> str:
        """Return a text with the same data: the file's description, its changes, and the data."""
        if not self.overridden:
            return self.text
        changes = dict(changed_in(self.text))
        for key in self.overridden:
            changes[as_dotted(key)] = shorten(literal(_at(self.data, key)))
        return with_changes(head_comment(self.text), changes, self.data)


def _at(data: Any, key: Key) -> Any:
    return data if not key else _at(data[key[0]], key[1:])


def shipped() -> dict[str, Path]:
    """Return the shipped targets, by name."""
    return in_folder(shipped_folder())


def shipped_folder() -> Path:
    """Return the folder of the shipped targets."""
    return shipped_files("targets")


def zoo() -> dict[str, Path]:
    """Return the planted bugs and their twins, by name."""
    return in_folder(shipped_folder() / "zoo")


def in_folder(folder: Path) -> dict[str, Path]:
    """Return the target files of a folder, by name: etcd-postgres before etcd-postgres-upsert."""
    return {path.stem: path for path in sorted(folder.glob("*.toml"), key=lambda path: path.stem)}


def load(path_or_name: str | Path, overrides: Sequence[str] = (), *, faults: bool = True) -> Target:
    """Read a target file, by its path or by a shipped target's name.

    `overrides` are `key=value` with a dotted key, as for the option `--set`.
    `faults=False` leaves out the faults, and the checks of their contradictions.
    Raises ConfigurationError, whose message lists all errors.
    """
    return _validated(parse(find(path_or_name)), overrides, faults=faults)


def load_text(text: str, name: str, overrides: Sequence[str] = (), *, faults: bool = True) -> Target:
    """Read the text of a target file, called `name` in messages; ConfigurationError as `load`."""
    return _validated(_parsed(name, text), overrides, faults=faults)


def of_seed(target: Target, seed: int, *, faults: bool = True) -> Target:
    """Draw the target of a run; without [vary], it is the target itself. `faults` as for `load`."""
    if not target.vary:
        return target
    data = loads(target.source)
    drawn = draw(data, seed)
    changed = varied(data, {key_of(key): value for key, value in drawn.items()})
    settings = ", ".join(f"{key} = {literal(value)}" for key, value in drawn.items())
    story = f"{head_comment(target.source)} Drawn with seed {seed}: {settings}.".lstrip()
    text = with_changes(story, dict(changed_in(target.source)), changed or {})
    return load_text(text, f"{target.name}, seed {seed}", faults=faults)


def _validated(parsed: Document, overrides: Sequence[str], *, faults: bool) -> Target:
    refused: list[str] = []
    document = _override(parsed, overrides, refused.append)
    target, problems = _checked(document.data, faults=faults)
    problems += problems_of_vary(document.data, problems, lambda data: _checked(data, faults=faults)[1])
    if refused or problems or target is None:
        raise ConfigurationError(*refused, *report(problems, document.place))
    target._source = document.source()  # noqa: SLF001 (no key of the file, so no field)
    return target


def _checked(data: Mapping[str, Any], *, faults: bool) -> tuple[Target | None, list[Problem]]:
    passwords = [Problem(key, remedy, data) for key, remedy in literal_passwords(data)]
    sections = _right_sections(data) if faults else replace(_right_sections(data), faults={})
    contradicting = [Problem(found.key, found.problem, data) for found in contradictions(sections)]
    try:
        target = Target.model_validate(frozen(data))
        too_many = [Problem(("require", HAZARDS), what, data) for what in too_many_required(target)]
        return target, passwords + contradicting + too_many
    except ValidationError as error:
        problems = problems_of(error, data)
        wrong = {problem.key for problem in problems}
        return None, problems + passwords + [found for found in contradicting if found.key not in wrong]


def find(path_or_name: str | Path) -> Path:
    """Return the path of a target file, or of a shipped target; ConfigurationError if there is none."""
    path = path_of(str(path_or_name))
    if path.is_file():
        return path
    known = shipped()
    if str(path_or_name) in known:
        return as_seen_from_here(known[str(path_or_name)])
    if not str(path_or_name).strip():
        raise ConfigurationError("the name of a target is empty; `fencepost targets` lists the shipped ones")
    if path.is_symlink() and not path.exists():
        raise ConfigurationError(f"{path} is a link to {path.readlink()}, which does not exist")
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder, not a target file")
    if path.exists():
        raise ConfigurationError(f"{path} is not a regular file: a target is a TOML file")
    if path.suffix == ".toml" or len(path.parts) > 1:
        near = nearest(path.stem, [file.stem for file in path.parent.glob("*.toml")])
        hint = f"; did you mean {path.with_name(f'{near}.toml')}?" if near else ""
        raise ConfigurationError(f"there is no file {path}{hint}")
    here = path.with_name(f"{path.name}.toml")
    hint = f"; did you mean {here}?" if here.is_file() else near_or(str(path_or_name), known, LISTED)
    raise ConfigurationError(f"unknown target {shorten(str(path_or_name))}{hint}")


def parse(path: Path) -> Document:
    """Read a file of TOML, and where its keys are; ConfigurationError if it cannot be read, or is none."""
    try:
        text = read_bytes(path, MAX_SIZE, TOO_LONG).decode()
    except HistoryError as error:
        raise ConfigurationError(str(error)) from None
    except UnicodeDecodeError:
        raise ConfigurationError(
            f"{path}: is not UTF-8 text: a target or a campaign is a TOML file"
        ) from None
    return _parsed(str(path), text)


def _parsed(path: str, text: str) -> Document:
    text = text.removeprefix(_BOM).replace("\r\n", "\n")
    try:
        data = loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(_syntax_error(path, text, str(error))) from None
    except TooBigError as error:
        place = Document(path, text, {}, lines_of_keys(text), {}).place(error.key)
        raise ConfigurationError(f"{place}: {error}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return Document(path, text, data, lines_of_keys(text), {})


def _syntax_error(path: str, text: str, message: str) -> str:
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    lines = text.removesuffix("\n").split("\n")
    line = min(int(found[1]), len(lines)) if found else len(lines)
    shown = without_passwords(lines[line - 1].strip())
    what = message[: found.start()] if found else message.removesuffix(" (at end of document)")
    what = re.sub(_KEYS, lambda keys: ".".join(re.findall(r"'([^']*)'", keys[0])), what)
    return f"{path}:{line}: invalid TOML: {what}: {shown}"


def _override(document: Document, overrides: Sequence[str], refuse: Callable[[str], None]) -> Document:
    """Apply the options; `refuse` gets a message about each one that cannot be applied."""
    data = copy.deepcopy(document.data)
    overridden: dict[Key, str] = {}
    for option in overrides:
        try:
            key, shown = override_one(data, option)
        except ConfigurationError as error:
            refuse(str(error))
        else:
            overridden[key] = shown
            keep_fixed(data, key)
    return replace(document, data=data, overridden=overridden)


def _right_sections(data: Mapping[str, Any]) -> Sections:
    faults = data.get("faults", [])
    each = faults if isinstance(faults, list) else []
    right = {index: fault for index, data in enumerate(each) if (fault := _section(FaultSpec, data))}
    wrong = frozenset(range(len(each))) - right.keys()
    in_part = {index: fault for index in wrong if (fault := _in_part(each[index]))}
    return Sections(
        lock=_section(LockSpec, data.get("lock")),
        storage=_section(StorageSpec, data.get("storage")),
        program_sides=program_sides_of(data.get("client")),
        workload=_section(WorkloadSpec, data.get("workload", {})),
        expected=_strings(data.get("expect")),
        may=_strings(data.get("may")),
        faults=dict(sorted((right | in_part).items())),
        wrong=wrong,
        overlap=data.get("overlap") is not False,
        holds=data.get("expect") == "valid",
        kinds=_kinds(faults),
        require=_counts(data.get("require")),
    )


def _kinds(faults: object) -> frozenset[str] | None:
    """Return the kinds of all faults; None if one has no kind."""
    if not isinstance(faults, list):
        return None
    kinds = frozenset(str(fault.get("kind")) if isinstance(fault, dict) else "" for fault in faults)
    return kinds if kinds <= FAULTS.keys() else None


def _counts(require: object) -> dict[str, int]:
    pairs = require.items() if isinstance(require, dict) else ()
    return {
        name: 1 if least == "all" else least
        for name, least in pairs
        if least == "all" or (isinstance(least, int) and least > 0)
    }


def _in_part(data: object) -> Any:
    """Read a fault with errors without its wrong keys, so that the others are checked all the same."""
    kind = data.get("kind") if isinstance(data, dict) else None
    spec = FAULTS.get(kind) if isinstance(kind, str) else None
    if spec is None or not isinstance(data, dict):
        return None
    wrong = _wrong_keys(FaultSpec, data)
    right = {key: value for key, value in data.items() if key not in wrong}
    aimed = {"target": data["target"]} if "target" in right else {}
    timed = {"kind": kind, **SHORT}
    candidates = (
        right | {key: value for key, value in {**MOMENTS, **spec.neutral}.items() if key in wrong},
        {**right, **spec.neutral, **aimed},
        {**right, **spec.neutral},
        {**timed, **spec.neutral, **aimed},
    )
    return next(filter(None, (_section(FaultSpec, candidate) for candidate in candidates)), None)


def _wrong_keys(kind: Any, data: object) -> set[Any]:
    """Return the keys with errors; None is among them if the section has errors as a whole."""
    try:
        _adapter(kind).validate_python(frozen(data))
    except ValidationError as error:
        return {detail["loc"][1] if len(detail["loc"]) > 1 else None for detail in error.errors()}
    return set()


def _section(kind: Any, data: object) -> Any:
    """Read one section if it is valid apart from unknown keys."""
    try:
        return _adapter(kind).validate_python(frozen(data))
    except ValidationError as error:
        unknown = {detail["loc"][-1] for detail in error.errors() if detail["type"] == "extra_forbidden"}
        if not unknown or not isinstance(data, dict):
            return None
        return _section(kind, {key: value for key, value in data.items() if key not in unknown})


_adapter = cache(TypeAdapter[Any])  # building one takes longer than reading all sections of a target


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def frozen(value: Any) -> Any:
    """Turn lists into tuples: the models are strict about types."""
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value
