"""The cells of a campaign, from names, files and matrices."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harness.campaign.campaign_file import Campaign, load
from harness.campaign.cells import expand
from harness.campaign.schedule import jobs
from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.spec.reading import load_text, of_seed, shipped


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
