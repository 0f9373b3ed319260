"""Changes of a target with `--set`."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.core.duration import NS
from harness.spec import load
from harness.spec.reading import load_text
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
