"""The canary: a planted bug that each night has to find, and its twin that has to be clean."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from harness.campaign import canary, outputs
from harness.campaign.assessment import Assessment, assess
from harness.campaign.campaign_file import Campaign, Cells, Quarantine, load
from harness.campaign.execution import Finished
from harness.campaign.junit import junit
from harness.campaign.merge import merge
from harness.campaign.night import Night, NightPlan
from harness.campaign.page.page import page
from harness.campaign.summary import headline, markdown
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from harness.report.first_finding import fingerprint
from harness.spec.reading import load_text
from tests.support import shards
from tests.support.campaign_runs import finished, job, plan, verdict
from tests.support.junit_readers import validated

BUG, TWIN = job("canary-equality-fence"), job("canary-equality-fence-twin")
ORDINARY = job("a")
TODAY = dt.date(2026, 11, 22)
SOURCE = 'name = "nightly"\n[[cells]]\ntargets = ["a"]\n'


def assessed(*runs: Finished, quarantine: Sequence[Quarantine] = ()) -> Assessment:
    night = with_canary(plan(BUG, TWIN, ORDINARY))
    return assess(night, runs, before={}, quarantine=quarantine, today=TODAY)


def with_canary(of: NightPlan) -> NightPlan:
    return msgspec.structs.replace(of, canary="equality-fence")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ((finished(BUG, 1), finished(TWIN)), "valid, as expected"),
        ((finished(BUG, 2), finished(TWIN)), "valid, as expected"),
        ((finished(BUG, 3, message="no server"), finished(TWIN)), "no server"),
        ((finished(BUG), finished(TWIN, 1, verdict("too late"))), "stale-write: too late"),
        ((finished(BUG),), "equality-fence-twin was not run"),
        ((), "equality-fence was not run; equality-fence-twin was not run"),
    ],
    ids=["not found", "unknown", "infrastructure", "its twin accused", "its twin not run", "not run"],
)
def test_a_night_that_misses_its_canary_is_red(tmp_path: Path, runs: tuple[Finished, ...], why: str) -> None:
    night = assessed(*runs, finished(ORDINARY))

    assert night.exit_code(allow_unknown=True) is ExitCode.VIOLATION
    assert night.canary
    assert night.canary.missed == why
    assert headline(night).startswith("CANARY MISSED, ")
    folder = Night(tmp_path, plan())
    assert f"the canary equality-fence was missed: {why}." in markdown(folder, night)
    suites = validated(junit(folder, night, allow_unknown=True))
    assert suites.failures + suites.errors >= 1


def test_a_night_that_finds_its_canary_is_green_and_names_it_once(tmp_path: Path) -> None:
    night = assessed(finished(BUG), finished(TWIN), finished(ORDINARY))
    folder = Night(tmp_path, plan())

    shown = page(folder, night, (), ExitCode.AS_EXPECTED)

    assert night.exit_code(allow_unknown=False) is ExitCode.AS_EXPECTED
    assert headline(night) == "1 passing"
    assert shown.counted == "1 run of 1 cell: 1 passed. The canary equality-fence was found."
    assert shown.notices == ()
    assert [row.result.cell.name for row in shown.cells] == [ORDINARY.cell]
    assert [night.counts[-1] for night in shown.trend.nights] == [1]
    assert BUG.cell not in markdown(folder, night)


def test_a_canary_that_was_missed_is_listed_with_a_warning(tmp_path: Path) -> None:
    night = assessed(finished(BUG, 2), finished(TWIN), finished(ORDINARY))

    shown = page(Night(tmp_path, plan()), night, (), ExitCode.VIOLATION)

    assert [notice.partition(":")[0] for notice in shown.notices] == ["The canary equality-fence was missed"]
    assert {row.result.cell.name for row in shown.cells} == {ORDINARY.cell, BUG.cell, TWIN.cell}


def test_a_missed_canary_is_never_quarantined() -> None:
    accused = verdict("too late")
    known = Quarantine(fingerprint=fingerprint(TWIN.cell, accused), reason="known", until=TODAY)

    night = assessed(finished(BUG), finished(TWIN, 1, accused), finished(ORDINARY), quarantine=[known])

    assert night.exit_code(allow_unknown=False) is ExitCode.VIOLATION


def test_every_default_canary_is_a_target_with_a_twin() -> None:
    for bug in canary.DEFAULTS:
        planted, twin = canary.cells(bug)

        assert (planted.name, twin.name) == (f"canary-{bug}", f"canary-{bug}-twin")
        assert load_text(planted.source, bug).expected
        assert not load_text(twin.source, bug).expected
        assert all(canary.is_canary(cell.name) for cell in (planted, twin))


def with_key(*, canary: bool | str) -> Campaign:
    return Campaign(name="nightly", canary=canary, cells=(Cells(targets=("etcd-postgres",)),))


DAILY = with_key(canary=True)


def test_each_day_has_another_canary() -> None:
    days = [TODAY + dt.timedelta(days=number) for number in range(len(canary.DEFAULTS))]

    assert {canary.chosen(DAILY, day) for day in days} == set(canary.DEFAULTS)
    assert canary.chosen(with_key(canary="uuid-token"), TODAY) == "uuid-token"
    assert canary.chosen(with_key(canary=False), TODAY) == ""


def test_a_machine_that_cannot_run_a_canary_has_the_next() -> None:
    today, tomorrow = canary.chosen(DAILY, TODAY), canary.chosen(DAILY, TODAY + dt.timedelta(days=1))

    assert canary.chosen(DAILY, TODAY, lambda bug: bug != today) == tomorrow
    assert canary.chosen(DAILY, TODAY, lambda bug: bug == "lease-id-token") == "lease-id-token"
    assert canary.chosen(DAILY, TODAY, lambda _bug: False) == today


@pytest.mark.parametrize(
    ("name", "hint"),
    [("uuid-tokens", "did you mean uuid-token?"), ("nobug", "docs/zoo.md lists all")],
)
def test_a_canary_that_the_zoo_does_not_have_is_refused(tmp_path: Path, name: str, hint: str) -> None:
    file = tmp_path / "nightly.toml"
    file.write_text(f'name = "nightly"\ncanary = "{name}"\n[[cells]]\ntargets = ["etcd-postgres"]\n')

    with pytest.raises(ConfigurationError) as refused:
        canary.chosen(load(file), TODAY)

    assert str(refused.value) == f'{file}:2: canary = "{name}": the zoo has no such bug; {hint}'


@pytest.mark.slow
def test_joined_shards_have_the_canary_of_the_first(tmp_path: Path) -> None:
    one = shards.shard(tmp_path / "one", ORDINARY)
    two = Night.create(tmp_path / "two", with_canary(plan(BUG, TWIN)), SOURCE)
    two.record(shards.ended(two, BUG, shards.STALE, expect=["stale-write"]))
    two.record(shards.ended(two, TWIN))

    merged = merge([one.path, two.path], tmp_path / "merged")

    assert outputs.assessed(merged, None).canary == outputs.assessed(two, None).canary
    assert str(outputs.assessed(merged, None).canary) == "the canary equality-fence was found"
