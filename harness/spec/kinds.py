"""The kinds of a section, each with its model, which the section's `kind` selects."""

from __future__ import annotations

from typing import Annotated, Any, Union, get_args

from pydantic import BaseModel, Discriminator, Tag

from harness.spec.fields import OWN, kind_of


def models_by_kind(union: object) -> dict[str, type[Any]]:
    """Map the kinds of each model of a union to the model; `OWN` is that of a user's class."""
    return {kind: model for model in get_args(union) for kind in _kinds_of_model(model)}


def selected_by_kind(union: object) -> object:
    """Annotate a union of models, so that a section is validated only by the model that its kind selects."""
    tagged = tuple(Annotated[model, Tag(kind)] for kind, model in models_by_kind(union).items())
    return Annotated[Union[tagged], Discriminator(kind_of)]  # noqa: UP007 - `|` needs the members one by one


def _kinds_of_model(model: type[BaseModel]) -> tuple[str, ...]:
    return get_args(model.model_fields["kind"].annotation) or (OWN,)
