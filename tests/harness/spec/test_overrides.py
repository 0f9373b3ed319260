"""Which targets run: selected by words, changed with `--set`, and as unfenced copies."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.spec import load
from harness.spec.overrides import unfenced_overrides
from harness.spec.reading import load_text, shipped
from harness.spec.selection import targets
from harness.spec.toml import changed_in, dumps, head_comment
from tests.support.target_files import SMALL, errors_of

SECOND = NS["s"]


def test_an_override_is_a_toml_value_or_a_string() -> None:
    overrides = [
        "lock.ttl=3s",
        "workload.clients = 10",
        'expect=["stale-write"]',
        'faults=[{kind="pause",target="holder",at="acquired",lasts="1 ttl"}]',
        "faults.0.target=client:7",
    ]
    target = load_text(SMALL, "t.toml", overrides)

    assert target.lock.ttl == 3 * SECOND
    assert target.workload.clients == 10
    assert target.expected == ("stale-write",)
    assert target.faults[0].target == "client:7"


def test_the_source_of_an_overridden_target_gives_the_same_target(tmp_path: Path) -> None:
    target = load("etcd-postgres-partition", ["lock.ttl=3s", "name=an-other"])
    again = tmp_path / "again.toml"
    again.write_text(target.source)

    assert load(again) == target
    assert '# changed with --set: lock.ttl = "3s"' in target.source


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("lock.ttl", "--set lock.ttl: write it as key=value, such as workload.clients=10"),
        ("=3", "--set =3: write it as key=value, such as workload.clients=10"),
        ("name.first=x", "--set name.first=x: the target has no such key"),
        ("faults.9.at=acquired", "--set faults.9.at=acquired: the target has no such key"),
        ("workload.clients.x=3", "--set workload.clients.x=3: the target has no such key"),
        (
            "workload.writes.x=3",
            "--set workload.writes.x=3: workload.writes: must be a whole number without quotes, such as 3",
        ),
        (
            "lock.ttl=1s",
            '--set lock.ttl=1s: lock.ttl = "1s": must be at least 2s: etcd grants no shorter lease',
        ),
        ("lock.tll=3s", '--set lock.tll=3s: lock.tll = "3s": unknown key in [lock]; did you mean ttl?'),
    ],
)
def test_an_error_of_an_override_names_the_option(override: str, error: str) -> None:
    assert errors_of("etcd-postgres", override) == [error]


def test_the_errors_of_all_overrides_are_reported_together() -> None:
    assert errors_of(
        "etcd-postgres", "workload.clients=ten", "lock.tll=3s", "faults.3.at=acquired", "lock.ttl"
    ) == [
        "--set faults.3.at=acquired: the target has no such key",
        "--set lock.ttl: write it as key=value, such as workload.clients=10",
        '--set lock.tll=3s: lock.tll = "3s": unknown key in [lock]; did you mean ttl?',
        '--set workload.clients=ten: workload.clients = "ten": must be a whole number without quotes, such as 3',
    ]


def test_an_override_with_invalid_toml_is_refused() -> None:
    (error,) = errors_of("etcd-postgres", "expect=[1")

    assert error.startswith("--set expect=[1: is not a TOML value")


def test_written_toml_reads_as_the_same_data() -> None:
    data = {
        "text": 'quotes " and \\ and\nlines é \x7f',
        "number": -3,
        "ratio": 1.5,
        "yes": True,
        "list": [1, [2], {"a b": "c"}],
        "table": {"x": 1, "deep": {"y": 2}},
        "tables": [{"z": 1, "w": {"v": 2}}, {"z": 2}],
    }

    assert tomllib.loads(dumps(data)) == data


def test_an_overridden_target_keeps_its_text_and_lists_the_changes(tmp_path: Path) -> None:
    target = load("etcd-postgres-append", ["workload.duration=6s", "faults.0.at=write-sent"])
    again = tmp_path / "again.toml"
    again.write_text(target.source)
    twice = load(again, ["workload.duration=7s", "lock.nodes=1"]).source

    assert head_comment(target.source).startswith("A fence alone does not protect a read-modify-write")
    assert dict(changed_in(target.source)) == {"workload.duration": '"6s"', "faults.0.at": '"write-sent"'}
    assert head_comment(twice) == head_comment(target.source)
    assert dict(changed_in(twice)) == dict(changed_in(target.source)) | {
        "workload.duration": '"7s"',
        "lock.nodes": "1",
    }


def test_a_listed_change_stays_in_one_comment_line() -> None:
    source = load("etcd-postgres", ['client.command=["a\\nb = 1", "' + "x" * 5000 + '"]']).source

    (change,) = changed_in(source)
    assert change[0] == "client.command"
    assert len(change[1]) < 300


def test_a_link_out_of_a_folder_of_targets_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("key = s3cr3t\n")
    folder = tmp_path / "received"
    folder.mkdir()
    (folder / "a.toml").write_text(SMALL)
    (folder / "b.toml").symlink_to("../credentials")
    (folder / "c.toml").symlink_to("/dev/zero")

    with pytest.raises(ConfigurationError) as error:
        targets([str(folder)])

    assert error.value.lines == (
        f"{folder}/b.toml is a link out of its folder; name the file that it leads to: {tmp_path}/credentials",
        f"{folder}/c.toml is a link out of its folder; name the file that it leads to: /dev/zero",
    )


def test_a_link_to_a_file_of_the_same_folder_is_followed(tmp_path: Path) -> None:
    """Kubernetes puts the files of a volume into a folder of their own, and links to them."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data/a.toml").write_text(SMALL)
    (tmp_path / "a.toml").symlink_to("..data/a.toml")
    (tmp_path / "circle.toml").symlink_to("circle.toml")

    assert targets([str(tmp_path)]).names == (f"{tmp_path}/a.toml", f"{tmp_path}/circle.toml")


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.toml").write_text(SMALL)
    (tmp_path / "folder/mine.toml").symlink_to("../a.toml")
    (tmp_path / "link").symlink_to("folder")

    assert targets([str(tmp_path / "folder/mine.toml")]).names == (f"{tmp_path}/folder/mine.toml",)


def test_the_copy_differs_in_its_name_its_fence_and_what_it_expects() -> None:
    target = load("etcd-postgres")

    copy = load("etcd-postgres", unfenced_overrides(target))

    assert (copy.name, copy.expected, copy.storage.fencing) == (
        "etcd-postgres-unfenced",
        ("stale-write",),
        "none",
    )
    assert (copy.lock, copy.workload, copy.faults) == (target.lock, target.workload, target.faults)


def test_a_copy_with_appends_may_lose_updates_and_never_fences() -> None:
    target = load("etcd-postgres-append-fence-on-acquire")

    copy = load("etcd-postgres-append-fence-on-acquire", unfenced_overrides(target))

    assert copy.may == ("lost-update",)
    assert not copy.storage.fence_on_acquire


def test_an_unfenced_target_has_no_copy() -> None:
    with pytest.raises(
        ConfigurationError, match=r'etcd-postgres-unfenced: storage\.fencing is "none" already'
    ):
        unfenced_overrides(load("etcd-postgres-unfenced"))


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_fenced_target_that_ships_has_a_copy(name: str) -> None:
    target = load(name)
    if target.fenced:
        assert not load(name, unfenced_overrides(target)).fenced
