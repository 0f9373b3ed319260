"""The stories of grants: leases that were still promised, and tokens that do not rise."""

from __future__ import annotations

from checkers.vocabulary.verdict import FindingCause
from tests.support.only_finding import only_finding


def test_an_early_grant_is_proved_by_the_renewal_that_promised_the_lease() -> None:
    finding = only_finding("early-grant/renewed")

    held, renewed, *_others, end = finding.proof
    assert finding.account.rule == "lease-still-promised"
    assert "was promised until 3.500 s" in finding.summary
    assert (held.operations, renewed.operations, end.operations) == ((2, 3), (5, 6), (4, 7))
    assert "at least until 3.500 s" in renewed.text


def test_an_early_grant_says_when_the_holder_began_its_release() -> None:
    finding = only_finding("early-grant/before-the-release")

    assert finding.summary.endswith("while process 0 held it until its release at 1.500 s")
    assert finding.story == (
        "Process 0 took the lock on r0 with token 33 and held it until its release at 1.500 s.",
        "Process 1 was granted it at 1.200 s, while process 0 still held it.",
    )
    assert "at least until 2.000 s" in finding.steps[1]
    assert finding.proof[2].operations == (6, 7)


def test_tokens_that_do_not_rise_are_explained_as_a_cycle_of_grants() -> None:
    finding = only_finding("token-regression/same-owner")

    assert finding.summary == (
        "process 0 was granted the lock on r0 with token 33 at 0.500 s (line 7), though the same token 33"
        " had been granted at 0.100 s (line 3)"
    )
    assert finding.steps[0] == (
        "Process 0 released the lock in between: its release was acknowledged at 0.300 s (line 5), so the"
        " later grant is a new hold."
    )
    assert finding.steps[1].startswith(
        "By real time, the grant of token 33 to process 0 at line 3 came before the grant of token 33 to"
        " process 0 at line 7:"
    )
    assert finding.steps[-1].endswith(
        "to a storage, this newer holder looks like an older one, or like the same one."
    )
    assert len(finding.operations) == 6


def test_an_early_grant_names_the_release_that_probably_freed_the_lock() -> None:
    finding = only_finding("early-grant/after-a-late-release")

    assert finding.account.cause == FindingCause(certain=False, operations=(4, 8))
    assert (
        "Process 0 sent the release of another hold at 1.900 s (line 4), and it was answered at"
        " 2.600 s (line 8): it probably freed the lock of process 1."
    ) in finding.steps


def test_an_early_grant_without_a_release_is_the_lock_services_fault() -> None:
    finding = only_finding("early-grant/renewed")

    assert finding.account.cause is None
    assert finding.steps[-2].endswith("the lock service itself gave away the lock of process 0.")


def test_a_release_without_an_answer_may_have_been_repeated() -> None:
    finding = only_finding("early-grant/after-a-repeated-release")

    assert finding.account.cause is None
    assert finding.steps[-2] == (
        "Process 0 had sent the release of another hold at 0.200 s (line 4), and never learned"
        " its outcome: carried out late, or repeated, it may have freed the lock of process 2."
    )


def test_a_release_without_an_answer_may_have_been_late() -> None:
    finding = only_finding("early-grant/after-an-unanswered-release")

    assert finding.steps[-2] == (
        "Process 0 had sent the release of another hold at 1.900 s (line 4), and never learned"
        " its outcome: carried out late, or repeated, it may have freed the lock of process 1."
    )


def test_of_releases_without_an_answer_that_of_the_holders_client_is_named() -> None:
    finding = only_finding("early-grant/after-two-unanswered-releases")

    assert "Client 0 had sent the release of another hold at 0.200 s (line 4)" in finding.steps[-2]
