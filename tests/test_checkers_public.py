"""The public face of the checkers, used as its documentation says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import checkers

DOCUMENTATION = (Path(__file__).parents[1] / "docs/checkers.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENTATION, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_documented_examples_print_what_they_say(example: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(example, "docs/checkers.md", "exec"), {})  # noqa: S102 - our own documentation

    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"^print\(.*\)  # (\(.*?\)|[^\s,:]+)(?:[,:].*)?$", example, re.MULTILINE)
    assert said
    assert printed[: len(said)] == said


def test_every_public_name_is_there_and_stands_in_order():
    assert checkers.__all__ == sorted(checkers.__all__)
    assert all(hasattr(checkers, name) for name in checkers.__all__)


def test_the_checkers_need_nothing_of_the_other_floors():
    script = (
        "import sys, checkers; print([m for m in sys.modules if m.split('.')[0] in {'harness', 'workloads'}])"
    )

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
