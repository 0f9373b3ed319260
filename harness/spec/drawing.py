"""The target of one run: with the values that its seed draws from [vary]."""

from __future__ import annotations

from harness.spec.models import Target
from harness.spec.overrides import key_of
from harness.spec.reading import load_text
from harness.spec.toml import changed_in, head_comment, literal, loads, with_changes
from harness.spec.vary import draw, varied


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
