"""Is there a user's class? Answered from its source, without running any of it: importing it would."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

from checkers.history.files import read_bytes
from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.nearest import nearest
from workloads.custom_class import searched


def missing(path: str) -> str | None:
    """Say why a class, as `package.module:Class`, will not be found; None if it may be.

    What the source does not decide may be: extension modules, `import *` and `__getattr__`.
    """
    module, _, name = path.partition(":")
    spec = _found(module)
    if spec is None:
        hint = f": name the module without .py, {module[:-3]}:{name}" if module.endswith(".py") else ""
        return f"there is no module {module}{hint} ({searched()})"
    if not isinstance(spec.loader, SourceFileLoader):
        return None
    try:
        tree = _parsed(Path(spec.loader.path))
    except HistoryError as error:
        return str(error)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{spec.loader.path} cannot be read as Python: {error or 'it is nested too deep'}"
    names = _names(tree)
    if name in names or not names.isdisjoint(("*", "__getattr__")):
        return None
    near = nearest(name, [each for each in names if each.isidentifier()])
    return f"{spec.loader.path} has no {name}" + (f"; did you mean {near}?" if near else "")


def _parsed(file: Path) -> ast.Module:
    source = read_bytes(file, limits.MIB, "a module is never that long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its escapes
        return ast.parse(source)


def _found(module: str) -> ModuleSpec | None:
    """Find a module as an import does, without importing the packages that it is in."""
    path: list[str] | None = None
    found = None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        found = _of_finders(".".join(parts[:depth]), path)
        if found is None and path is None:  # `custom_class.load` looks there last
            found = _of_finders(parts[0], [os.getcwd()])  # noqa: PTH109 - import paths are strings
        if found is None or (depth < len(parts) and found.submodule_search_locations is None):
            return None
        path = list(found.submodule_search_locations or [])
    return found


def _of_finders(module: str, path: list[str] | None) -> ModuleSpec | None:
    specs = (finder.find_spec(module, path) for finder in sys.meta_path)
    return next(filter(None, specs), None)


def _names(tree: ast.Module) -> set[str]:
    """Return all names that a module may have: those that are bound anywhere in it."""
    names = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=alias):
                names.add(alias or name.partition(".")[0])
    return names
