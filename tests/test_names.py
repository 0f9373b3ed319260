"""Names of tests: sentences that fit into a line."""

from __future__ import annotations

import ast

from tests.support.repository import ROOT

LONGEST = 70  # characters


def test_no_name_of_a_test_has_more_than_70_characters() -> None:
    names = [
        node.name
        for file in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]

    assert [name for name in names if len(name) > LONGEST] == []


def test_no_test_sleeps_except_between_two_looks() -> None:
    """A sleep in a loop polls; any other waits and hopes."""
    hoping = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in (ROOT / "tests").rglob("test_*.py")
        for node in _outside_of_loops(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "time.sleep"
    ]

    assert hoping == []


def _outside_of_loops(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.While | ast.For):
            found += [child, *_outside_of_loops(child)]
    return found
