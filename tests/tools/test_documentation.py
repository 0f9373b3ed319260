"""The documentation: generated tables, numbers, recipes for extensions, and sentences of a bearable length."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers.formats import collisions
from checkers.text import limits, printable
from harness.atlas import wire
from harness.campaign import corpus, results, stored
from harness.core.errors import ConfigurationError
from harness.engines.local import LocalEngine
from harness.files import known_digests, logs, received, user_folders
from harness.run.deployment import topology
from harness.spec import load, reading, shipped, toml
from tests.support.console_blocks import first_paragraph, paragraphs, sentences
from tests.support.repository import ROOT
from tools.tables import BEGIN, END, TABLES, with_table
from tools.target_table import table
from workloads import commit_room, http_connection, redis_connection
from workloads.line_protocol import pipe
from workloads.storages import http


@pytest.mark.parametrize(("page", "made"), TABLES.items())
def test_the_committed_tables_are_current(page: str, made: Callable[..., Any]) -> None:
    committed = (ROOT / page).read_text(encoding="utf-8")

    assert with_table(committed, made()) == committed, "run `make schemas` and commit the result"


def test_each_shipped_target_has_a_row() -> None:
    rows = table().splitlines()[2:]

    assert sorted(row.rpartition("[`")[2].partition("`")[0] for row in rows) == sorted(shipped())
    assert len({row.count("|") for row in rows}) == 1


def test_a_row_has_the_expectation_and_the_engines() -> None:
    rows = table().splitlines()

    assert (
        "| etcd | etcd | lock-key | inclusive | valid | Docker, local "
        "| [`etcd-same-etcd`](../../targets/etcd-same-etcd.toml) |"
    ) in rows
    assert (
        "| redis | zookeeper | none |  | stale-write | Docker, local "
        "| [`redis-zookeeper-unfenced`](../../targets/redis-zookeeper-unfenced.toml) |"
    ) in rows


@pytest.mark.slow
def test_a_row_lists_the_local_engine_only_if_it_can_run_the_target() -> None:
    rows = table().splitlines()[2:]
    local = [row.rpartition("[`")[2].partition("`")[0] for row in rows if "| Docker, local |" in row]
    needs = (topology(target, target.faults) for target in map(load, local))

    refusals = [refusal for need in needs if (refusal := LocalEngine().refusal(need))]

    assert not [refusal for refusal in refusals if isinstance(refusal, ConfigurationError)]


def test_a_target_that_moves_a_clock_needs_docker() -> None:
    assert any("| Docker | [`redlock-postgres-clock`]" in row for row in table().splitlines())


def test_the_text_around_the_table_is_kept() -> None:
    assert with_table(f"above\n{BEGIN}old\n{END}below\n", "new\n") == f"above\n{BEGIN}new\n{END}below\n"


LIMITS = {
    "a line of a history, of `events/*.jsonl` and of `commits.jsonl`": (limits.LINE,),
    "`history.jsonl`, a history of another tool, all of `events/` together": (limits.HISTORY,),
    "a compressed history of another tool, decompressed, or 100 times its compressed size up to 2 GiB": (
        limits.EXPANDED,
    ),
    "`commits.jsonl`": (limits.COMMITS,),
    "`verdict.json`": (limits.VERDICT,),
    "`report.html`, when `show` opens it": (limits.REPORT,),
    "`plan.json`, `environment.json`, `header.json`, `target.toml` of a run": (limits.DOCUMENT,),
    "`plan.json`, `results.jsonl` of a night": (limits.NIGHT,),
    "a history in the file of `--history`: its row; decompressed": (results._MOST_IN_ROW, stored.MOST_STORED),
    "a target file, a campaign file": (reading.MAX_SIZE,),
    "an entry of a corpus: compressed; each of its files": (corpus._MOST_STORED, corpus._MOST_JUDGED),
    "a line of a program": (pipe.MAX_LINE,),
    "an answer over HTTP": (http_connection.MAX_BODY,),
    "an answer of S3 to `atlas`": (wire.MOST,),
    "an answer of Redis": (redis_connection.MAX_ANSWER,),
    "a storage's order of writes: beyond 4 times what the clients recorded; all of it": (
        limits.EARLIER_COMMITS,
        limits.COMMITS,
    ),
    "that order in one answer over HTTP": (http.MOST_COMMITS,),
    "a line of `commits.jsonl` as a run writes it": (limits.LINE,),
    "a log of a run (clients, programs, servers)": (logs.MOST,),
    "a container's log, as Docker keeps it": (logs.MOST,),
}
"""The limits of SECURITY.md, in bytes."""
COUNTS = {
    "files in `events/`": limits.EVENT_FILES,
    "files in one folder": received.MOST_FILES,
    "values (commas and opening brackets) in one of the JSON files above": limits.VALUES,
}
SENTENCES = {
    "at most {:,}, under the same conditions": known_digests.MOST,
    "(mode 0700, the newest {})": user_folders.MOST_PAGES,
    "cuts a value after {} characters": printable.LONGEST,
    "a line of a message after {:,} characters": printable.LONGEST_LINE,
    "TOML beyond {} levels": toml.MAX_DEPTH,
    "with more than {} values of the same hash": collisions.MOST,
    "expand to more than {} MiB": stored.MOST_STORED >> 20,
    "or {} times its compressed size up to": limits.EXPANSION,
    "beyond {} times what the clients recorded": commit_room.PER_RECORDED,
}


def test_the_limits_that_security_names_are_those_of_the_code() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if "|" in line
    ]
    stated = {name: limit.removesuffix(" each") for name, limit, *_ in rows if limit[:1].isdigit()}

    assert stated == {
        **{name: "; ".join(map(limits.described, sizes)) for name, sizes in LIMITS.items()},
        **{name: f"{count:,}" for name, count in COUNTS.items()},
    }
    assert [each for each, number in SENTENCES.items() if each.format(number) not in page] == []


RECIPES = sorted((ROOT / "docs/extending").glob("*.md"))
NAME = re.compile(r"`([A-Z]\w+|[a-z]+(?:_[a-z]+)+)(?:\([^`]*\))?`")
"""A class, a constant, or a function with an underscore in its name."""


@pytest.fixture(scope="module")
def defined() -> frozenset[str]:
    """Every word of the code."""
    folders = ("checkers", "workloads", "harness", "fuzzing", "tests")
    files = (file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return frozenset(
        word for file in files if file != Path(__file__) for word in re.findall(r"\w+", file.read_text())
    )


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda page: page.stem)
def test_every_name_of_a_recipe_is_in_the_code(recipe: Path, defined: frozenset[str]) -> None:
    named = set(NAME.findall(recipe.read_text(encoding="utf-8")))

    assert named
    assert named - defined - {"WORKERS", "SLOW_WORKERS"} == set()


MOST = 30
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md")
READ_WHOLE = (ROOT / "README.md", ROOT / "docs/tutorial.md", ROOT / "docs/nightly.md")


def too_long(paragraph: str) -> list[str]:
    return [sentence for sentence in sentences(paragraph) if len(sentence.split()) > MOST]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_begins_with_a_paragraph_of_short_sentences(page: Path) -> None:
    first = first_paragraph(page.read_text(encoding="utf-8"))

    assert first, "a page says first what it is about"
    assert too_long(first) == []


@pytest.mark.parametrize("page", READ_WHOLE, ids=lambda page: page.name)
def test_a_page_that_is_read_whole_has_short_sentences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert [long for paragraph in paragraphs(text) for long in too_long(paragraph)] == []


@pytest.mark.parametrize(
    ("paragraph", "count"),
    [
        ("One. Two `a.b` and three.", 2),
        ("See docs/a.md for it. `b` is next.", 2),
        ("A list, e.g. of versions 3.11 to 3.13.", 1),
    ],
)
def test_sentences_end_where_another_begins(paragraph: str, count: int) -> None:
    assert len(sentences(paragraph)) == count


def test_the_first_paragraph_is_what_stands_under_the_title() -> None:
    assert first_paragraph("# Title\n\nWords with `code` and [a link](a.md).\n\nMore.\n") == (
        "Words with `code` and a link."
    )
    assert first_paragraph("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nWords.\n") == ""
