"""What a target executes and contacts that Fencepost does not ship: it decides whether a target is trusted.

Neither the owner of a target file nor its place says who wrote it. So the user's word is kept for what a run
executes: programs, classes, the folder and the PYTHONPATH where they are found, images, and the services that
get requests and passwords. A target of shipped kinds alone executes nothing of anybody's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from typing import Any

from checkers.text.limits import described
from checkers.text.printable import as_json
from harness.core.errors import ConfigurationError
from harness.core.invocation import NO_FAULTS, Repetition
from harness.engines.built_images import our_images
from harness.files.environment import repetition_here
from harness.files.known_digests import KnownDigest, is_known, remember
from harness.nemesis.script import ScriptSpec
from harness.spec.models import Target
from harness.spec.reading import MAX_SIZE, TOO_LONG, load_text
from workloads import class_source, custom_class

ADD_TRUST = "add --trust if you trust it"
_FILES = ("password_file", "ca_file", "cert_file", "key_file")  # keys of a side that name one
_SERVICES = ("url", "running", "password_env")  # its alias is servers, or endpoints
_SHIPPED = "workloads.zoo."
_OF_WORKLOAD = {"workload", "require", "overlap"}  # sections that may vary without executing anything


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What one target executes: names of settings with their values, and where code is found."""

    settings: tuple[tuple[str, Any], ...]
    folder: str = ""  # empty if nothing depends on it
    python_path: str = ""
    refused: str = ""  # why the target cannot be read here: what it executes is not known

    @property
    def is_trusted(self) -> bool:
        """Has the user run all of this, on this machine?"""
        if self.refused:
            return False
        return not self.settings or is_known(KnownDigest.TRUSTED, self._digest)

    def trust(self) -> None:
        """Keep that the user runs this."""
        if self.settings:
            remember(KnownDigest.TRUSTED, self._digest)

    def lines(self) -> Iterator[str]:
        """Yield each thing on a line, as JSON: nothing in a value starts another line."""
        places = (("in the folder", self.folder), ("with PYTHONPATH", self.python_path))
        for name, value in (*self.settings, *places):
            if value:
                yield f"  {name}: {as_json(value)}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(as_json([self.settings, self.folder, self.python_path]).encode()).hexdigest()


NOTHING = Executed(settings=())


def executed_here(target: Target) -> Executed:
    """Return what a run of a target that starts now, in this folder, executes."""
    return executed_in(target, repetition_here((), own_code=True))


def executed_again(text: str | None, how: Repetition) -> Executed:
    """Return what it would execute to repeat a recorded run, by the text of its target if there is one."""
    if text is None:
        return NOTHING
    if len(text) > MAX_SIZE:
        return Executed(settings=(), refused=f"it has more than {described(MAX_SIZE)}; {TOO_LONG}")
    try:
        return executed_in(load_text(text, "target.toml", faults=NO_FAULTS not in how.options), how)
    except ConfigurationError as error:
        return Executed(settings=(), refused=error.lines[0])


def depends_on_folder(target: Target) -> bool:
    """Does the target name a program, a class or a file that is found from the current folder?"""
    return any(True for _ in _found_in_folder(target))


def commands(target: Target) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the commands of the user that a target names, each with its key."""
    if target.client:
        yield "client.command", target.client.command
    for index, fault in enumerate(target.faults):
        if isinstance(fault, ScriptSpec):
            yield from ((f"faults.{index}.{key}", command) for key, command in fault.commands().items())


def check_classes(target: Target) -> None:
    """Import each class; ConfigurationError if there is none, or it does not fit."""
    check_storage = partial(custom_class.check_storage, fences=target.storage.fence_on_acquire)
    for key, kind, check_class in (
        ("lock.kind", target.lock.kind, custom_class.check_lock),
        ("storage.kind", target.storage.kind, check_storage),
    ):
        if ":" in kind:
            try:
                check_class(kind)
            except custom_class.InvalidClassError as error:
                raise ConfigurationError(f"{key}: {error}") from error


def classes_not_loaded(target: Target) -> Iterator[str]:
    """Yield sentences about the user's classes, as far as can be said without running their code."""
    waiting = []
    for key, kind in chain.from_iterable(starmap(_own_class, _sides(target))):
        if why := class_source.missing(kind):
            yield f"{key}: {kind} cannot be loaded: {why}"
        else:
            waiting.append(kind)
    if waiting:
        classes = " and ".join(dict.fromkeys(waiting))
        yield f"validate does not load {classes}: a run does, before it starts servers"


def executed_in(target: Target, place: Repetition) -> Executed:
    """Return what a run of a target executes whose programs and classes are found in this place."""
    in_folder = tuple(_found_in_folder(target))
    settings = (*in_folder, *_anywhere(target))
    if not in_folder:
        return Executed(settings=settings)
    return Executed(settings=settings, folder=place.folder, python_path=place.python_path)


def _found_in_folder(target: Target) -> Iterator[tuple[str, Any]]:
    yield from commands(target)
    for name, side in _sides(target):
        yield from _own_class(name, side)
        yield from ((f"{name}.{key}", getattr(side, key)) for key in _FILES if getattr(side, key, None))


def _own_class(name: str, side: Any) -> Iterator[tuple[str, str]]:
    if ":" in side.kind and not side.kind.startswith(_SHIPPED):
        yield f"{name}.kind", side.kind


def _anywhere(target: Target) -> Iterator[tuple[str, Any]]:
    for name, side in _sides(target):
        if _is_foreign_image(side):
            yield f"{name}.image", side.image
        for key in _SERVICES:
            if getattr(side, key, None):
                yield f"{name}.{type(side).model_fields[key].alias or key}", getattr(side, key)
    for key, values in target.vary.items():
        if key.partition(".")[0] not in _OF_WORKLOAD:
            yield f"vary.{key}", values


def _sides(target: Target) -> tuple[tuple[str, Any], ...]:
    return ("lock", target.lock), ("storage", target.storage)


def _is_foreign_image(side: Any) -> bool:
    image = getattr(side, "image", None)
    if image is None or image in our_images():
        return False
    return "image" not in type(side).model_fields or image != type(side).model_fields["image"].default
