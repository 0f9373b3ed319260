"""Files stay short enough to be read in one go."""

from __future__ import annotations

from tests.support.repository import ROOT

FOLDERS = (
    "checkers",
    "workloads",
    "harness",
    "fencepost",
    "tools",
    "benchmarks",
    "fuzzing",
    "examples",
    "tests",
)
LONGEST = 350  # lines


def test_no_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if ".venv" not in path.parts  # of an adapter that was built
    }

    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}
