"""The plays of a card, with a real program that does what each of them looks for."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.card.plays import PLAYS, play
from harness.card.series import Subject
from harness.engines.local import LocalEngine
from tests.support.repository import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, str]]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def results(name: str, *habits: str) -> tuple[str, str]:
        program = [
            sys.executable,
            "-m",
            "tests.support.renewing_program",
            f"{tmp_path / name}.db",
            "1",
            *habits,
        ]
        subject = Subject(
            name="mine",
            command=shlex.join(program),
            lock="client",
            storage="sqlite",
            fencing="conditional-update",
            duration="10s",
            gives_token=False,
            overrides=("lock.ttl=1s",),
        )
        (found,) = play(subject, LocalEngine(), [name])
        assert found.versions == {"mine": "1"}
        assert found.key == PLAYS[name][0]
        return found.word, found.said

    return results


@pytest.mark.parametrize(
    ("name", "habits", "word", "said"),
    [
        ("held-longer", ["renews"], "yes", "nobody else was granted it in 2."),
        ("held-longer", [], "no", "another client was granted it after 1."),
        ("held-longer-reentered", ["renews", "reenters"], "yes", "nobody else was granted it in 2."),
        ("held-longer-reentered", ["renews", "reenters", "forgets"], "no", "another client was granted it"),
        ("held-longer-reentered", ["reenters"], "none", "a lock that is taken once is not renewed either"),
        ("held-longer-reentered", ["renews"], "not shown", "the program does not know reenter"),
        ("foreign-release", [], "yes", "of an owner that never had it, and of one that had lost it"),
        ("foreign-release", ["frees-any"], "no", "the release by an owner that never had it freed it"),
        ("foreign-release", ["frees-late"], "no", "the late release of a lost lock freed it, while"),
        ("foreign-release", ["renews", "trusts-its-renewals"], "no", "the late release of a lost lock ended"),
        ("foreign-release", ["never-ends"], "not shown", "the lock of a stopped holder was not granted"),
        ("foreign-release", ["shares"], "not shown", "another client was granted the lock at once, while"),
        ("foreign-release", ["breaks-once"], "yes", "of an owner that never had it, and of one that"),
        ("taken-again", ["loses-its-session"], "no", "it was still free for another client"),
        ("taken-again", ["renews"], "no", "it was still free for another client"),
        ("taken-again", ["retakes"], "yes", "its old holder had it again, without an acquire"),
        ("taken-again", ["shares"], "not shown", "another client was granted the lock at once, while"),
        ("queue", ["shares"], "not shown", "another client was granted the lock before it was released"),
        ("queue", ["queues"], "yes", "in 8 of 8 rounds the first that waited was granted it first"),
    ],
)
def test_each_play_finds_what_it_looks_for(
    played: Callable[..., tuple[str, str]], name: str, habits: list[str], word: str, said: str
) -> None:
    found = played(name, *habits)

    assert found[0] == word, found
    assert found[1].startswith(said)
