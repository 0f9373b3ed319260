"""Mutation testing of the checkers: mutmut makes the mutants, mypy rejects most, and tests catch the others.

Results are appended to `mutants/results.jsonl`, so that a run continues where the last one stopped.

    python -m tools.mutants [--seconds N] [PATTERN …]      # with patterns: what they match and no test caught
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from mutmut.__main__ import create_mutants
from mutmut.configuration import config
from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.type_checking import run_type_checker
from mutmut.utils.file_utils import (
    copy_also_copy_files,
    copy_src_dir,
    setup_source_paths,
    walk_mutatable_files,
)
from mutmut.utils.format_utils import get_mutant_name

from tools.forked_tests import COPY, ESCAPED, REJECTED, RESULTS, ForkedTests, Mutant, note

STORY = re.compile(r"def (x\w+?)__mutmut_orig\([^)]*Narrator")  # prose: golden files cover it


def main() -> int:
    """Test all mutants that have no result yet, and print what became of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--seconds", type=float, default=8, help="of tests for one mutant")
    options = parser.parse_args()
    _make_mutants()
    mutants = [m for m in _mutants() if _matches(m, options.patterns)]
    again = ESCAPED if options.patterns else set()
    results = _results(mutants)
    todo = [m for m, result in results.items() if result in {"", *again}]
    if not all(results.values()):
        rejected = _rejected_by_types()
        note({m: REJECTED for m in todo if m.name in rejected})
        todo = [m for m in todo if m.name not in rejected]
    status = _run_tests(todo, options.seconds) if todo else 0
    return status or _print_summary(_results(mutants))


def _make_mutants() -> None:
    set_mutant_under_test("mutant_generation")
    COPY.mkdir(exist_ok=True)
    shutil.rmtree(COPY / "tests", ignore_errors=True)  # or a removed test would stay
    copy_src_dir()
    copy_also_copy_files()
    setup_source_paths()
    create_mutants(1)


def _mutants() -> Iterator[Mutant]:
    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        stories = set(STORY.findall((COPY / path).read_text(encoding="utf-8")))
        for name in data.exit_code_by_key:
            function = name.partition("__mutmut_")[0]
            short = function.rpartition(".")[2]
            if short not in stories:
                yield Mutant(name, function, data.hash_by_function_name[short])


def _matches(mutant: Mutant, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch.fnmatch(mutant.name, pattern) for pattern in patterns)


def _rejected_by_types() -> set[str]:
    """The mutants that mypy rejects: each line of a mutated file belongs to one of them."""
    print("mypy checks all mutants", flush=True)
    with contextlib.chdir(COPY):
        errors = run_type_checker(config().type_check_command)
    rejected = set()
    for path in walk_mutatable_files():
        lines = {error.line_number for error in errors if error.file_path == (COPY / path).absolute()}
        spans = MutantLineSpans.load(path)
        for function, span in spans.span_by_function_name.items() if spans else ():
            if lines.intersection(range(span.start, span.end + 1)):
                rejected.add(get_mutant_name(path, function))
    return rejected


def _results(mutants: list[Mutant]) -> dict[Mutant, str]:
    """The last result of each mutant; empty: it was not tested since its function changed."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    known = {Mutant(*mutant): result for mutant, result, *_ in map(json.loads, lines)}
    return {mutant: known.get(mutant, "") for mutant in mutants}


def _run_tests(todo: list[Mutant], seconds: float) -> int:
    with tempfile.TemporaryDirectory() as base, contextlib.chdir(COPY):
        arguments = [
            "--rootdir=.",
            "-q",
            "--capture=sys",
            f"--basetemp={base}/pytest",
            "-o",
            "tmp_path_retention_policy=none",
        ]
        selection = config().pytest_add_cli_args_test_selection
        plugins = [ForkedTests(todo, seconds)]
        return int(pytest.main([*arguments, *config().pytest_add_cli_args, *selection], plugins=plugins))


def _print_summary(results: dict[Mutant, str]) -> int:
    """A line for each module, and the name of each mutant that no test catches; 1 if there is one."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for mutant, result in results.items():
        counts[mutant.module][result] += 1
        counts["all"][result] += 1
    words = [word for word in counts["all"] if word]
    print(" ".join(f"{word:>11}" for word in ("mutants", *words)))
    for module, count in counts.items():
        print(" ".join(f"{number:>11}" for number in (count.total(), *map(count.__getitem__, words))), module)
    escaped = [f"{result}: {mutant.name}" for mutant, result in results.items() if result in ESCAPED]
    print(*escaped, sep="\n")
    return int(bool(escaped))


if __name__ == "__main__":
    sys.exit(main())
