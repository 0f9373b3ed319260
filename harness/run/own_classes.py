"""The user's own classes that a target names as its lock or its storage."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness.core.errors import ConfigurationError
from harness.spec import Target
from harness.spec.executed import own_classes
from workloads import class_source, custom_class


def check(target: Target) -> None:
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


def not_loaded(target: Target) -> Iterator[str]:
    """Yield sentences about the user's classes, as far as can be said without running their code."""
    waiting = []
    for key, kind in own_classes(target):
        if why := class_source.missing(kind):
            yield f"{key}: {kind} cannot be loaded: {why}"
        else:
            waiting.append(kind)
    if waiting:
        classes = " and ".join(dict.fromkeys(waiting))
        yield f"validate does not load {classes}: a run does, before it starts servers"
