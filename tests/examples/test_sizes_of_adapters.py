"""An adapter stays short enough to be written in a quarter of an hour."""

from __future__ import annotations

from tests.support.repository import ROOT

ADAPTERS = ROOT / "examples/locks"
LANGUAGES = {".py", ".go", ".java", ".mjs"}
BUILT = {".venv", "node_modules", "target"}
LONGEST, LONGEST_PROTOCOL = 60, 80  # lines


def test_no_protocol_file_or_adapter_is_too_long() -> None:
    lengths = {
        path.relative_to(ADAPTERS): len(path.read_text(encoding="utf-8").splitlines())
        for path in ADAPTERS.rglob("*.*")
        if path.suffix in LANGUAGES and not BUILT & {*path.parts}
    }

    protocols = {path for path in lengths if path.stem.lower() == "protocol"}
    assert {path.suffix for path in protocols} == LANGUAGES
    limits = {path: LONGEST_PROTOCOL if path in protocols else LONGEST for path in lengths}
    assert {str(path): lines for path, lines in lengths.items() if lines > limits[path]} == {}
