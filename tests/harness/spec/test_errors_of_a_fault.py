"""Errors of one fault: all are reported together, whatever else in the file is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.errors import ConfigurationError
from harness.spec import load

TEXT = """
name = "t"
expect = ["stale-write"]
[lock]
{}
[storage]
kind = "postgres"
fencing = "none"
[[faults]]
{}
"""


@pytest.fixture
def errors_of(tmp_path: Path) -> Callable[[str, str], list[str]]:
    """The errors of a target with this lock and this fault."""

    def errors_of(lock: str, fault: str) -> list[str]:
        file = tmp_path / "t.toml"
        file.write_text(TEXT.format(lock, fault))
        with pytest.raises(ConfigurationError) as caught:
            load(file)
        return str(caught.value).splitlines()

    return errors_of


def test_all_errors_of_a_clock_are_reported_together(errors_of: Callable[[str, str], list[str]]) -> None:
    clock = 'kind = "clock"\ntarget = "etcd-1"\njump = "1s"\ndrift = 0.1\nevery = "2s"\nlasts = "1h"'

    errors = errors_of('kind = "etcd"\nversion = "3.5.15"', clock)

    assert [error.split("faults.0.")[1].split(" = ")[0] for error in errors] == [
        "target",
        "jump",
        "drift",
        "lasts",
        "lasts",
    ]


def test_a_clock_with_two_moves_hides_no_other_error(errors_of: Callable[[str, str], list[str]]) -> None:
    clock = 'kind = "clock"\ntarget = "redsi"\njump = "1h"\ndrift = 1.0\nlasts = "1h"'

    errors = "\n".join(errors_of('kind = "redis"', clock))

    assert "a clock moves in one way" in errors
    assert "this target has no server redsi; did you mean redis-1?" in errors
    assert "must be shorter than the run" in errors
    assert len(errors.splitlines()) == 3


@pytest.mark.parametrize("lock", ["etcd", "etdc"])
@pytest.mark.parametrize(
    ("times", "others"),
    [
        ('at = "before-wrte"\nuntil = "superseded"', 1),
        ('at = "before-write"\nuntil = "supersede"', 1),
        ('at = "before-write"', 1),
        ('at = "before-write"\nuntil = "superseded"\nlasts = "1s"', 1),
        ('every = "8"\nlasts = "1s"', 1),
        ("", 1),
    ],
)
def test_wrong_times_hide_no_misspelt_holder(
    errors_of: Callable[[str, str], list[str]], lock: str, times: str, others: int
) -> None:
    errors = errors_of(f'kind = "{lock}"', f'kind = "pause"\ntarget = "holdr"\n{times}')

    assert sum("did you mean holder?" in error for error in errors) == 1
    assert len(errors) == 1 + others + (lock == "etdc")


@pytest.mark.parametrize("lock", ["etcd", "etdc"])
def test_a_misspelt_holder_is_noticed(errors_of: Callable[[str, str], list[str]], lock: str) -> None:
    fault = 'kind = "pause"\ntarget = "holdr"\nevery = "8s"\nlasts = "1s"'

    errors = errors_of(f'kind = "{lock}"', fault)

    assert "did you mean holder?" in errors[-1]
    assert len(errors) == (2 if lock == "etdc" else 1)
