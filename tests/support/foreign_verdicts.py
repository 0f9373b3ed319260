"""Whether the search finds an order for a foreign history."""

from __future__ import annotations

from checkers import formats
from checkers.formats import Foreign
from checkers.models.judge import MODELS
from checkers.models.search import search
from checkers.vocabulary.verdict import Validity


def verdict_of(history: Foreign, model: str = "cas-register") -> Validity:
    return search(formats.operations(history, model).operations, MODELS[model]()).validity
