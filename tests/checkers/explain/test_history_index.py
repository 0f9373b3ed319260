"""Questions about few operations of a run, of which it may have many."""

from __future__ import annotations

import json
import time

from checkers import parse
from checkers.evidence import Evidence
from checkers.explain.history_index import HistoryIndex

READS = 50_000


def test_the_writer_of_a_value_is_found_among_many_reads_of_it() -> None:
    lines = [json.dumps({"fencepost": 1, "target": "t", "fenced": True})]
    for number in range(READS):
        read = {"process": 1, "f": "read", "resource": "r0"}
        lines.append(json.dumps({"time": 2 * number, "type": "invoke"} | read))
        lines.append(json.dumps({"time": 2 * number + 1, "type": "ok", "token": 1, "value": "a"} | read))
    history = parse(lines)
    index = HistoryIndex(Evidence(history=history))
    read_first = history.operations[0]
    began = time.process_time()

    assert [index.writer(read_first) for _ in range(READS)] == [None] * READS
    assert time.process_time() - began < 5
