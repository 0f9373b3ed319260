"""A card for each release: which ones are made, and which release changed an answer."""

import pytest

from harness.card.answers import AnsweredQuestion
from harness.card.by_release import Releases, changes, markdown, next_to_make, rows
from harness.card.words import Word, polarity
from harness.core.errors import ConfigurationError

VERSIONS = ("1", "2", "3", "4", "5", "6")


def answers(renewed: Word, token: Word = "yes") -> tuple[AnsweredQuestion, ...]:
    return (
        AnsweredQuestion(key="renewed_after_reentry", question="renewed?", word=renewed, said=""),
        AnsweredQuestion(key="token", question="token?", word=token, said=""),
    )


def all_made(truth: dict[str, tuple[AnsweredQuestion, ...]]) -> dict[str, tuple[AnsweredQuestion, ...]]:
    made: dict[str, tuple[AnsweredQuestion, ...]] = {}
    while version := next_to_make(VERSIONS, made):
        assert version not in made
        made[version] = truth[version]
    return made


@pytest.mark.parametrize("broken", range(1, 6))
def test_a_change_is_narrowed_down_to_two_neighbours(broken: int) -> None:
    truth = {version: answers("no" if int(version) <= broken else "yes") for version in VERSIONS}
    made = all_made(truth)

    (change,) = changes(VERSIONS, made)
    assert (change.last, change.first) == (f"{broken}", f"{broken + 1}")
    assert change.said == f"renewed: no up to {broken}, yes from {broken + 1} on"
    assert len(made) <= 5


def test_releases_between_two_that_agree_are_not_made() -> None:
    assert list(all_made({version: answers("yes") for version in VERSIONS})) == ["1", "6"]


def test_two_changes_are_both_found() -> None:
    of_two = {"1": answers("no"), "2": answers("yes"), "3": answers("yes")}
    truth = of_two | {version: answers("yes", "none") for version in ("4", "5", "6")}

    assert [(each.key, each.last, each.first) for each in changes(VERSIONS, all_made(truth))] == [
        ("renewed_after_reentry", "1", "2"),
        ("token", "3", "4"),
    ]


def test_a_release_that_shows_nothing_is_passed_over() -> None:
    truth = {version: answers("no") for version in "12"} | {version: answers("yes") for version in "56"}
    truth |= {"3": answers("not shown"), "4": answers("not shown")}

    (change,) = changes(VERSIONS, all_made(truth))
    assert (change.last, change.first) == ("2", "5")


def test_the_table_marks_what_is_good_and_what_was_not_made() -> None:
    releases = Releases(library="mine", versions=("1", "2", "3"))
    made = {"1": answers("no", "not shown"), "3": answers("no", "not shown")}

    assert list(rows(releases, made)) == [("mine", "1", "2", "3"), ("renewed?", "✗ no", "·", "✗ no")]
    assert list(markdown(releases, made))[-2:] == [
        "- no answer changed",
        "- · no card was made: the releases before and after it answer alike",
    ]


@pytest.mark.parametrize(
    ("key", "word", "expected"),
    [
        ("lost_while_paused", "yes", "bad"),
        ("lost_while_paused", "no", "good"),
        ("taken_again_silently", "yes", "bad"),
        ("renewed_while_held", "no", "open"),
        ("first_come_first_served", "no", "open"),
        ("survives_failover", "none", "open"),
        ("token", "none", "bad"),
        ("strictly_rising", "no", "bad"),
        ("strictly_rising", "not shown", "open"),
    ],
)
def test_which_answers_are_good(key: str, word: Word, expected: str) -> None:
    assert polarity(key, word) == expected


def test_the_releases_are_read() -> None:
    assert Releases.parsed("redisson=3.43.0, 4.7.0", "").versions == ("3.43.0", "4.7.0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("redisson", "name a library and its releases, such as --versions redisson=3.43.0,3.46.0"),
        ("=1,2", "name a library and its releases"),
        ("redisson=1,,2", "name a library and its releases"),
        ("redisson=1", "name at least two releases, each once, oldest first"),
        ("redisson=1,1", "name at least two releases, each once, oldest first"),
    ],
)
def test_a_wrong_list_of_releases_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Releases.parsed(text, "")
