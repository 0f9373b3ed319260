"""An error names its file, line or target once, however many functions it passes through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers.text import limits

TARGET = """
name = "mine"
expect = ["stale-write"]
[lock]
{lock}
ttl = "2s"
[storage]
kind = "postgres"
fencing = "none"
"""
REFUSED = (
    "{:process 0, :type :invoke, :f :write, :value 1}\n{:process 1, :type :invoke, :f :write, :value nil}\n"
)


@pytest.mark.parametrize(
    ("lock", "code", "said"),
    [
        ('kind = "nowhere:Class"', 4, "lock.kind: nowhere:Class cannot be loaded"),
        (
            'kind = "http"\nurl = "http://127.0.0.1:1"',
            3,
            "infrastructure failure: nothing answers at lock.url",
        ),
    ],
    ids=["class", "service"],
)
def test_what_cannot_be_reached_is_named_after_its_target(
    fencepost: Any, tmp_path: Path, lock: str, code: int, said: str
) -> None:
    (tmp_path / "t.toml").write_text(TARGET.format(lock=lock))

    ran = fencepost("run", "t.toml", "--engine", "local")

    assert ran.returncode == code
    assert ran.stderr.startswith(f"mine: {said}")


def test_what_an_etcd_log_cannot_express_has_one_line(fencepost: Any, tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(REFUSED)

    ran = fencepost("export", "history.edn", "--to", "porcupine-etcd")

    assert ran.returncode == 4
    assert ran.stderr == "history.edn:2: an etcd log cannot express a write of nil\n"


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("corpus/entry/expected.json", ("corpus", "check", "corpus")),
        ("plan.json", ("run", "etcd-postgres", "--plan", "plan.json", "--engine", "local")),
        ("night/plan.json", ("campaign", "merge", "night")),
    ],
)
def test_a_document_that_cannot_be_read_is_named_once(
    fencepost: Any, tmp_path: Path, path: str, arguments: tuple[str, ...]
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    with (tmp_path / path).open("wb") as file:
        file.truncate(limits.NIGHT + 1)

    ran = fencepost(*arguments)

    assert ran.returncode == 4
    said = next(line for line in ran.stderr.splitlines() if "it has more than " in line)
    assert [said.count(name) for name in path.split("/")] == [1] * len(path.split("/"))
