"""Campaign files: what they say, every mistake with its place, and the cells that they make."""

import datetime as dt
import os
import random
from pathlib import Path

import pytest

from harness.campaign.campaign_file import Campaign, load
from harness.campaign.cells import expand
from harness.campaign.schedule import jobs
from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.spec.reading import load_text, of_seed, shipped


def read(folder: Path, text: str) -> Campaign:
    file = folder / "nightly.toml"
    file.write_text(text)
    return load(file)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as refused:
        read(folder, text)
    return [line.removeprefix(f"{folder}/") for line in str(refused.value).splitlines()]


def test_a_file_says_what_a_night_runs(tmp_path: Path) -> None:
    campaign = read(
        tmp_path,
        """
        name = "nightly"
        budget = "55m"
        repeat = 3
        set = ["workload.duration=10s"]
        [[cells]]
        targets = ["etcd-postgres*"]
        [[matrix]]
        lock = ["etcd"]
        storage = ["redis:script"]
        exclude = [{ lock = "etcd", faults = "pause" }]
        [[quarantine]]
        fingerprint = "4-0123456789ab"
        reason = "known"
        until = 2027-01-31
        """,
    )

    assert campaign.budget == 55 * NS["m"]
    assert campaign.repeat == 3
    assert campaign.changes == ("workload.duration=10s",)
    assert campaign.cells[0].targets == ("etcd-postgres*",)
    assert campaign.matrix[0].faults == ("pause",)
    assert campaign.quarantine[0].until == dt.date(2027, 1, 31)


def test_all_mistakes_are_named_with_their_lines(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        """name = "nightly"
budgit = "55m"
workers = 0
[[cells]]
targets = []
[[matrix]]
lock = ["etcd"]
storage = "redis:script"
[[quarantine]]
fingerprint = "abc"
reason = "known"
until = "2027-01-31"
""",
    )

    assert found == [
        'nightly.toml:2: budgit = "55m": unknown key in a campaign; did you mean budget?',
        'nightly.toml:3: workers = 0: must be "auto", or a number from 1 to 64',
        "nightly.toml:5: cells.0.targets = []: must not be empty",
        'nightly.toml:8: matrix.0.storage = "redis:script": must be a list in brackets, such as ["a", "b"]',
        'nightly.toml:10: quarantine.0.fingerprint = "abc": must be as `campaign` prints it: a number, a dash, and 12 hexadecimal digits',
        'nightly.toml:12: quarantine.0.until = "2027-01-31": must be a date without quotes, such as 2027-01-31',
    ]


def test_a_pipe_is_no_campaign_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "nightly.toml")

    with pytest.raises(ConfigurationError, match=r"nightly\.toml: this is a pipe"):
        load(tmp_path / "nightly.toml")


ONE_CELL = '[[cells]]\ntargets = ["a"]'


@pytest.mark.parametrize(
    ("setting", "mistake"),
    [
        ('sett = ["workload.duration=60s"]', "unknown key in a campaign; did you mean set?"),
        ('keep = "some"', 'must be "all", "failures", or a number of passed runs of each cell'),
        ("keep_size = 5", 'must be a size such as "500MB" or "2GB"'),
        ("shrink = 5", 'must be true or false without quotes, or the longest time, such as "10m"'),
        ('shrink = "yes"', 'must be true or false without quotes, or the longest time, such as "10m"'),
        ("canary = 5", "must be true or false, or the name of a planted bug; `fencepost zoo` runs all"),
        ("seeds = 5", "must be a list in brackets, such as [1, 2]"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, setting: str, mistake: str) -> None:
    assert mistakes(tmp_path, f'name = "n"\n{setting}\n{ONE_CELL}') == [
        f"nightly.toml:2: {setting}: {mistake}"
    ]


MATRIX = '[[matrix]]\nlock = ["etcd"]\nstorage = ["redis:none"]\n'


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (f"seeds = [-1]\n{ONE_CELL}", "seeds.0 = -1: must be at least 0"),
        ("", "selects nothing to run: add [[cells]] with targets, or a [[matrix]]"),
        (f"seeds = [1]\nrepeat = 2\n{ONE_CELL}", "seeds and repeat exclude each other: give one of them"),
        (
            f'{MATRIX}faults = ["pauze"]',
            'matrix.0.faults.0 = "pauze": no such fault set; did you mean pause?',
        ),
        (f"{MATRIX}exclude = [{{}}]", "excludes nothing: give lock, storage or faults"),
        ('[cells]\ntargets = ["a"]', "cells: must be a list of tables: write [[cells]], in two brackets"),
    ],
)
def test_a_contradiction_is_named(tmp_path: Path, text: str, mistake: str) -> None:
    (found,) = mistakes(tmp_path, f'name = "n"\n{text}')

    assert found.endswith(mistake)


@pytest.mark.parametrize(
    ("value", "limit"), [("false", None), ("true", 300 * NS["s"]), ('"90s"', 90 * NS["s"])]
)
def test_shrinking_takes_a_limit_or_its_default(tmp_path: Path, value: str, limit: int | None) -> None:
    assert read(tmp_path, f'name = "n"\nshrink = {value}\n[[cells]]\ntargets = ["a"]').shrink == limit


def campaign(**sections: object) -> Campaign:
    return Campaign.model_validate({"name": "nightly", **sections})


def test_a_pattern_selects_shipped_targets() -> None:
    expansion = expand(campaign(cells=({"targets": ("etcd-sqlite*", "no-such-*")},)))

    assert [cell.name for cell in expansion.cells] == ["etcd-sqlite", "etcd-sqlite-unfenced"]
    assert [cell.storage for cell in expansion.cells] == ["sqlite:conditional-update", "sqlite:none"]
    assert len(expansion.empty) == 1


def test_a_pattern_with_a_folder_selects_files(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(shipped()["redis-redis"].read_text())

    expansion = expand(campaign(cells=({"targets": (f"{tmp_path}/m*.toml",)},)))

    assert [cell.name for cell in expansion.cells] == ["redis-redis"]


def test_a_pattern_follows_no_link_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").symlink_to("/dev/zero")

    with pytest.raises(ConfigurationError, match=r"mine\.toml is a link out of its folder"):
        expand(campaign(cells=({"targets": (f"{tmp_path}/m*.toml",)},)))


def test_a_matrix_has_every_combination_but_the_excluded() -> None:
    matrix = {
        "lock": ("etcd", "redis"),
        "storage": ("postgres:none", "postgres:conditional-update"),
        "faults": ("pause", "kill-storage"),
        "exclude": ({"lock": "redis", "faults": "kill-storage"},),
    }

    cells = expand(campaign(matrix=(matrix,))).cells

    assert [cell.name for cell in cells] == [
        "etcd-postgres-none-pause",
        "etcd-postgres-none-kill-storage",
        "etcd-postgres-conditional-update-pause",
        "etcd-postgres-conditional-update-kill-storage",
        "redis-postgres-none-pause",
        "redis-postgres-conditional-update-pause",
    ]


def test_an_unfenced_combination_must_show_a_stale_write() -> None:
    matrix = {"lock": ("etcd",), "storage": ("postgres:none", "postgres:upsert")}

    unfenced, fenced = expand(campaign(matrix=(matrix,))).cells

    assert load_text(unfenced.source, "unfenced").expected == ("stale-write",)
    assert load_text(fenced.source, "fenced").expected == ()


def test_a_lock_with_complete_answers_is_not_paused_at_granted() -> None:
    matrix = {"lock": ("etcd", "redis"), "storage": ("postgres:none",)}

    etcd, redis = (load_text(cell.source, "") for cell in expand(campaign(matrix=(matrix,))).cells)

    assert [getattr(fault, "at", None) for fault in etcd.faults] == [
        "before-write",
        "before-write",
        "granted",
    ]
    assert [getattr(fault, "at", None) for fault in redis.faults] == ["before-write", "before-write"]


def test_settings_are_changed_in_every_target() -> None:
    cells = expand(
        campaign(
            set=("workload.duration=9s",),
            cells=({"targets": ("etcd-sqlite",)},),
            matrix=({"lock": ("redis",), "storage": ("redis:script",)},),
        )
    ).cells

    assert {cell.duration for cell in cells} == {9_000_000_000}


def test_what_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "nightly.toml"
    file.write_text(
        'name = "n"\n[[cells]]\ntargets = ["gone/away.toml"]\n[[cells]]\ntargets = ["etcd-sqlite", "no-*"]\n'
        '[[matrix]]\nlock = ["etcd", "etcdd"]\nstorage = ["sqlite:nothing"]\n'
        '[[matrix]]\nlock = ["etcd"]\nstorage = ["sqlite:none"]\nfaults = ["kill-storage"]\n'
    )

    with pytest.raises(ConfigurationError) as refused:
        expand(load(file))

    gone, lock, storage, combination = refused.value.lines
    assert gone == f'{file}:3: cells.0.targets.0 = "gone/away.toml": there is no file gone/away.toml'
    assert lock.startswith(
        f'{file}:7: matrix.0.lock.1 = "etcdd": no shipped target has "etcdd"; did you mean'
    )
    assert storage.startswith(f'{file}:8: matrix.0.storage.0 = "sqlite:nothing": no shipped target has')
    assert 'exclude = [{ lock = "etcd", storage = "sqlite:none", faults = "kill-storage" }]' in combination


def test_a_pattern_that_selects_nothing_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "nightly.toml"
    file.write_text('name = "n"\n[[cells]]\ntargets = ["etcd-sqlite", "no-*"]\n')

    expansion = expand(load(file))

    assert expansion.empty == (f'{file}:3: cells.0.targets.1 = "no-*": no shipped target matches no-*',)


def test_two_targets_of_one_name_are_refused(tmp_path: Path) -> None:
    text = shipped()["redis-redis"].read_text()
    (tmp_path / "one.toml").write_text(text)
    (tmp_path / "two.toml").write_text(text.replace('duration = "20s"', 'duration = "21s"'))

    with pytest.raises(ConfigurationError, match="two different targets are called redis-redis"):
        expand(campaign(cells=({"targets": (str(tmp_path),)},)))


def test_each_run_of_a_cell_draws_its_own_settings(tmp_path: Path) -> None:
    varying = shipped()["redis-redis"].read_text() + '\n[vary]\n"lock.ttl" = ["2s", "3s"]\n'
    (tmp_path / "mine.toml").write_text(varying)

    (cell,) = expand(campaign(cells=({"targets": (str(tmp_path / "mine.toml"),)},))).cells
    planned = jobs([cell], seeds=range(20), repeat=1, past={}, rng=random.Random(1))
    ttls = {of_seed(load_text(cell.source, cell.name), job.seed).lock.ttl for job in planned}

    assert ttls == {2 * NS["s"], 3 * NS["s"]}
