"""Operations of the owners of one lock."""

from checkers.history.records import Op, Outcome


def op(f: str, owner: str, called: int, returned: int, outcome: Outcome = Outcome.OK) -> Op:
    """Return an operation of an owner on r0."""
    return Op(
        index=called,
        process=0,
        f=f,
        resource="r0",
        owner=owner,
        called=called,
        returned=None if outcome is Outcome.INFO else returned,
        outcome=outcome,
    )
