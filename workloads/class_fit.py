"""Does a user's class have the methods of a lock or a storage? Answered before any server starts.

Each call that Fencepost makes is compared with the signature that it meets: a missing parameter
would otherwise end every operation of a run in info. What cannot be known is accepted: `*args`,
the methods behind `__getattr__`, descriptors, and functions without a signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any

from workloads.client import Lock, Storage

_OPTIONAL_OF_STORAGES = {"set_up": ("settings", "resources"), "committed": ("settings",)}
"""Static methods: they are called on the class."""


def misfits_of_lock(found: object) -> Iterator[str]:
    """Yield what must change in a class that is to be a lock, each as the rest of a sentence."""
    yield from _misfits(found, Lock, _methods(Lock), ("settings", "session"))


def misfits_of_storage(found: object, *, fences: bool) -> Iterator[str]:
    """Yield what must change in a class that is to be a storage; `fences`: a new holder raises its mark."""
    needed = [name for name in _methods(Storage) if fences or name != "fence"]
    yield from _misfits(found, Storage, needed, ("settings",))
    for name, arguments in _OPTIONAL_OF_STORAGES.items():
        if inspect.isclass(found) and callable(method := getattr(found, name, None)):
            yield from _misfit(f".{name}", method, arguments, "on the class, without self, ")


def _methods(protocol: type) -> list[str]:
    return [name for name, each in vars(protocol).items() if inspect.isfunction(each) and name[0] != "_"]


def _misfits(found: object, protocol: type, needed: Sequence[str], made_with: Sequence[str]) -> Iterator[str]:
    if not inspect.isclass(found):
        what = "a function" if inspect.isroutine(found) else f"an instance of {type(found).__name__}"
        yield f" is {what}: name a class that has {', '.join(needed)}"
        return
    hands_on = hasattr(found, "__getattr__")  # methods that it lacks, perhaps to another client
    asked = [name for name in needed if hasattr(found, name) or not hands_on]
    missing = [name for name in asked if _is_missing(found, name, protocol)]
    if missing:
        needs = f": it needs {', '.join(needed)}" if len(missing) < len(needed) else ""
        yield f" has no {', no '.join(missing)}{needs}"
    yield from _misfit("", found, made_with)
    for name in asked:
        attribute = inspect.getattr_static(found, name, None)
        if name not in missing and isinstance(attribute, FunctionType | staticmethod | classmethod):
            expected = list(inspect.signature(getattr(protocol, name)).parameters)[1:]
            yield from _misfit(f".{name}", attribute.__get__(object(), found), expected)


def _is_missing(found: type, name: str, protocol: type) -> bool:
    """Is there no such method, or only the abstract one, or the empty one of the protocol?"""
    method = getattr(found, name, None)
    is_abstract = name in getattr(found, "__abstractmethods__", ())
    return not callable(method) or is_abstract or method is getattr(protocol, name)


def _misfit(
    name: str, function: Callable[..., Any], arguments: Sequence[str], how: str = ""
) -> Iterator[str]:
    """Yield what is wrong with a function that is called with these arguments, all by position."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        yield f"{name} is a coroutine function, and nothing awaits it: write it without async"
        return
    try:
        signature = inspect.signature(function, follow_wrapped=False)  # a decorator may pass more or fewer on
    except (TypeError, ValueError):  # some built-in functions have none
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        taken = ", ".join(signature.parameters) or "no arguments"
        given = f"with {', '.join(arguments)}" if arguments else "without arguments"
        yield f"{name} takes {taken}, and is called {how}{given}: change its parameters"
