"""The generated tables of the documentation, and the numbers that it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checkers.formats import collisions
from checkers.text import limits, printable
from harness.atlas import wire
from harness.campaign import corpus, results, stored
from harness.core.errors import ConfigurationError
from harness.engines.local import LocalEngine
from harness.files import cache_folder, known_digests, log_limit, received
from harness.run.deployment import topology
from harness.spec import load, reading, shipped, toml
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
    "a log of a run (clients, programs, servers)": (log_limit.MOST,),
    "a container's log, as Docker keeps it": (log_limit.MOST,),
}
"""The limits of SECURITY.md, in bytes."""
COUNTS = {
    "files in `events/`": limits.EVENT_FILES,
    "files in one folder": received.MOST_FILES,
    "values (commas and opening brackets) in one of the JSON files above": limits.VALUES,
}
SENTENCES = {
    "at most {:,}, under the same conditions": known_digests.MOST,
    "(mode 0700, the newest {})": cache_folder.MOST_PAGES,
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
