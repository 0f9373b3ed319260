"""Whether the search finds an order for a foreign history."""

from __future__ import annotations

from checkers import interop
from checkers.interop import Foreign
from checkers.interop.foreign import MODELS
from checkers.linearizability.search import search
from checkers.vocabulary.verdict import Validity


def verdict_of(history: Foreign, model: str = "cas-register") -> Validity:
    return search(interop.operations(history, model).operations, MODELS[model]()).validity
