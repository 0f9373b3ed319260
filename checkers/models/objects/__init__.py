"""Models: the possible answers of one object, as a state and a step; `model` defines the interface."""

from __future__ import annotations

from collections.abc import Callable

from checkers.models.objects.collections import Counter, KeyValue, Set
from checkers.models.objects.locks import (
    Fenced,
    FencedMutex,
    FencedNested,
    Mutex,
    Nested,
    OwnedMutex,
    ReentrantFencedMutex,
    ReentrantMutex,
)
from checkers.models.objects.model import IMPOSSIBLE, Model, Reaches
from checkers.models.objects.registers import UNSEEN, CasRegister, Register, Unseen

MODELS: dict[str, Callable[[], Model]] = {
    "cas-register": CasRegister,
    "counter": Counter,
    "fenced-mutex": FencedMutex,
    "kv": KeyValue,
    "mutex": Mutex,
    "owned-mutex": OwnedMutex,
    "reentrant-fenced-mutex": ReentrantFencedMutex,
    "reentrant-mutex": ReentrantMutex,
    "register": Register,
    "set": Set,
}
"""The included models, by their names on the command line."""

__all__ = [
    "IMPOSSIBLE",
    "MODELS",
    "UNSEEN",
    "CasRegister",
    "Counter",
    "Fenced",
    "FencedMutex",
    "FencedNested",
    "KeyValue",
    "Model",
    "Mutex",
    "Nested",
    "OwnedMutex",
    "Reaches",
    "ReentrantFencedMutex",
    "ReentrantMutex",
    "Register",
    "Set",
    "Unseen",
]
