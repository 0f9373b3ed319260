"""How it is told that the storage's own order contradicts what clients were told of their fences."""

from __future__ import annotations

from collections.abc import Callable

from checkers.conflict import Conflict, Rule
from checkers.explain.narrator import Narrator, Story


def _never_raised(n: Narrator, conflict: Conflict) -> Story:
    fence = conflict.accused
    return Story(
        summary=(
            f"the storage told {n.whom(fence)} that {fence.resource} was fenced with token {fence.token},"
            " but its own order has no such token by then"
        ),
        steps=(
            f"{n.who(fence)} sent a fence with token {fence.token} {n.sent(fence)}.",
            (
                f"The storage said ok {n.answered(fence)}: from then on its highest token had to be"
                f" {fence.token} or above."
            ),
            (
                f"But by its own order, which includes fences, nothing with token {fence.token} or above can"
                " have been accepted by then."
            ),
        ),
    )


def _refused_but_raised(n: Narrator, conflict: Conflict) -> Story:
    fence = conflict.accused
    return Story(
        summary=(
            f"{n.whom(fence)} was told that its fence of {fence.resource} with token {fence.token} had"
            " failed, but it took effect"
        ),
        steps=(
            f"{n.who(fence)} sent a fence with token {fence.token} {n.sent(fence)}.",
            f"It was told that this failed ({fence.error}) {n.answered(fence)}.",
            f"But that fence is {n.place(fence)} in the storage's own order.",
        ),
    )


FENCE_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.FENCE_NEVER_RAISED: _never_raised,
    Rule.FENCE_FAILED_BUT_LOGGED: _refused_but_raised,
}
