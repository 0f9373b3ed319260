"""What the wrong token of a grant let through the fence follows from it; what came too late does not."""

from __future__ import annotations

from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Finding
from tests.support.events import call, recorded


def stale_write(*done: tuple[str, int, int]) -> Finding:
    """The only stale write of a run in which clients do this, one after another: a call, who, the token."""
    events = []
    for number, (f, client, token) in enumerate(done):
        fields = {"owner": f"{client}-1"} if f == "acquire" else {"token": token, "value": f"v{number}"}
        events += call(client, f, 10 * number + 1, 10 * number + 5, {"token": token}, **fields)
    verdict = judge(recorded(*events, fenced=False, policy="strict", clients=10))
    (found,) = (each for each in verdict.findings if each.anomaly == "stale-write")
    return found


def test_a_token_below_that_of_an_earlier_grant_let_its_write_through() -> None:
    found = stale_write(("acquire", 0, 5), ("acquire", 1, 4), ("write", 0, 5), ("write", 1, 4))

    assert found.caused_by is not None
    assert found.caused_by.anomaly == "token-regression"


def test_a_write_after_one_of_a_later_grant_is_late_whatever_its_token() -> None:
    found = stale_write(
        ("acquire", 0, 5), ("acquire", 1, 4), ("acquire", 2, 6), ("write", 2, 6), ("write", 1, 4)
    )

    assert found.caused_by is None


def test_a_second_write_of_one_hold_has_nothing_to_do_with_its_token() -> None:
    found = stale_write(("acquire", 0, 3), ("acquire", 1, 3), ("write", 1, 3), ("write", 1, 3))

    assert found.caused_by is None
