"""Surprises in what a stranger handed over: nothing outside is written or read, and nothing hangs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzzing import campaign, sandbox
from fuzzing.hostile import folders
from fuzzing.hostile.box import SECRET
from fuzzing.hostile.folders import COMMANDS, Planted, draw, places
from fuzzing.hostile.surprises import SURPRISES
from harness.core.exit_codes import ExitCode

SEED = 20261126
PARTS = 4
QUICK, SLOW = 5, 250  # cases of a part
REFUSED = {"import", "run a plan", "shrink with runs", "validate targets"}
"""Commands that refuse what they are given even without a surprise, but only once they have read it."""


def found_in(cases: int, part: int, keep: Path) -> list[str]:
    with campaign.warm([]) as scratch:
        tally = campaign.Tally()
        trial = campaign.Trial(scratch, keep, tally)
        for case in draw(cases, random.Random(SEED + part)):
            trial("hostile-folders", case)
    assert tally.cases.total() == cases
    return tally.findings


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_the_user_did_not_name_is_written_or_read(part: int, tmp_path: Path) -> None:
    assert found_in(QUICK, part, tmp_path) == []


@pytest.mark.parametrize(
    ("command", "place", "surprise"),
    [
        ("validate targets", "named.toml", "a link to an impossible name"),
        ("recheck the latest", "t/1/history.jsonl", "a link to an impossible name"),
        ("recheck the latest", "t", "a link to an impossible name"),
        ("recheck the latest", "t", "a link out"),
        ("show the latest", "t", "a circle of links"),
        ("shrink", "minimal-commits.jsonl", "a folder"),
    ],
)
def test_what_was_found_once_stays_refused(command: str, place: str, surprise: str, tmp_path: Path) -> None:
    case = Planted(command=command, surprises=((place, surprise),))
    case.write(tmp_path)

    outcome = sandbox.run(case.act, tmp_path)

    assert list(case.broken(tmp_path, outcome)) == []
    assert outcome.code == ExitCode.CONFIGURATION


def test_a_run_that_the_user_names_may_lie_behind_links(tmp_path: Path) -> None:
    named = "runs/failed/20261122T030000-0a1b2c3d"
    case = Planted(
        command="recheck a run of a night",
        surprises=((f"{named}/minimal.toml", "a folder on the way is a link"),),
    )
    case.write(tmp_path)

    outcome = sandbox.run(case.act, tmp_path)

    assert SECRET in outcome.said
    assert not any("was printed" in found for found in case.broken(tmp_path, outcome))


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS, 2 * PARTS))
def test_a_thousand_times_nothing_else_is_written_or_read(part: int, tmp_path: Path) -> None:
    assert found_in(SLOW, part, tmp_path) == []


def attacked(monkeypatch: pytest.MonkeyPatch, box: Path, act: Callable[[], object]) -> list[str]:
    """Do something in the place of `recheck`, with a link out in its folder."""

    def command(*_: str) -> int:
        act()
        return 0

    monkeypatch.setattr(folders, "command", command)
    case = Planted(command="recheck", surprises=(("plan.json", "a link out"),))
    case.write(box)
    outcome = sandbox.run(case.act, box)
    assert outcome.code == 0, outcome.said
    return list(case.broken(box, outcome))


def through_a_link() -> None:
    with Path("given/plan.json").open("a") as file:
        file.write("x")


def kept_inode() -> None:
    Path("notes.txt").write_text(Path("notes.txt").read_text())


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (through_a_link, "outside/given/plan.json was changed"),
        (kept_inode, "work/notes.txt was changed"),
        (Path("given/notes.txt").unlink, "work/given/notes.txt is gone"),
        (lambda: Path("../outside/planted").write_text(""), "outside/planted is new"),
        (lambda: Path("../home/config/x").chmod(0o777), "home/config/x was changed"),
        (lambda: Path("new").mkdir(), "work/new is new"),
        (
            lambda: Path("given/verdict.json").write_text(SECRET),
            "work/given/verdict.json has what is outside",
        ),
        (lambda: print(SECRET), "what is outside was printed"),  # noqa: T201 - what it does wrong
    ],
)
def test_what_is_forbidden_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, act: Callable[[], object], why: str
) -> None:
    assert attacked(monkeypatch, tmp_path, act) == [f"recheck: {why}"]


def allowed() -> None:
    Path("given/verdict.json").write_text("{}")
    cache = Path("../home/cache/fencepost")
    cache.mkdir()
    (cache / "x").touch()


@pytest.mark.parametrize("act", [lambda: None, allowed])
def test_what_is_allowed_is_not_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, act: Callable[[], object]
) -> None:
    assert attacked(monkeypatch, tmp_path, act) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_surprise_each_command_reads_what_it_is_given(name: str, tmp_path: Path) -> None:
    with campaign.warm([]):
        case = Planted(command=name)
        case.write(tmp_path)
        outcome = sandbox.run(case.act, tmp_path, longest=60.0)

    assert (outcome.code == ExitCode.CONFIGURATION) == (name in REFUSED), outcome.said
    assert campaign.wrong(outcome, tmp_path, case.codes) is None, outcome.said
    assert list(case.broken(tmp_path, outcome)) == []


@pytest.mark.slow
def test_every_surprise_can_be_put_in_the_place_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    for number, (surprise, put) in enumerate(SURPRISES.items()):
        if surprise == "a bomb of xz":  # it takes a while
            continue
        outside = tmp_path / str(number) / "outside" / "given"
        outside.mkdir(parents=True)
        (outside.parent / "canary").touch()
        for name in ("events", "plan.json"):
            place = tmp_path / str(number) / "given" / name
            place.parent.mkdir(exist_ok=True)
            place.touch()
            put(place, outside / name)


def test_there_are_places_in_every_subject() -> None:
    assert all(places(attacked.subject) for attacked in COMMANDS.values())
