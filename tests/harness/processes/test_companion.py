"""The harness's own companions: they end with their block, however that ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.processes.companion import companion

SLOW_TO_END = "import sys, time; sys.stdin.read(); time.sleep(1)"  # longer than Popen waits after Ctrl-C


@pytest.mark.parametrize("ends", [KeyboardInterrupt, ValueError])
def test_a_companion_has_ended_when_its_block_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    (tmp_path / "slow_to_end.py").write_text(SLOW_TO_END)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ends), companion("slow_to_end") as process:
        raise ends

    assert process.returncode == 0
