"""A worker's program for tests: a queue in one SQLite file, over the line protocol.

`queue_program.py FILE`: a job is leased for `ttl_ms` without renewals, and its attempts are counted.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from typing import Any

TABLE = """
CREATE TABLE IF NOT EXISTS job
(queue text, job text PRIMARY KEY, due integer, attempt integer, ends integer, done integer)
"""
TAKE = """
UPDATE job SET attempt = attempt + 1, ends = :now + :ttl WHERE job =
(SELECT job FROM job WHERE queue = :queue AND NOT done AND due <= :now AND ends <= :now ORDER BY due LIMIT 1)
RETURNING job, attempt
"""


class Program:
    def __init__(self, file: str, ttl: int) -> None:
        self.database = sqlite3.connect(file, isolation_level=None, timeout=5)
        self.database.execute(TABLE)
        self.ttl = ttl
        self.taken: dict[str, int] = {}

    def submit(self, request: Any) -> dict[str, Any]:
        due = ms() + request["due_ms"]
        self.database.execute(
            "INSERT INTO job VALUES (?, ?, ?, 0, 0, 0)", (request["resource"], request["job"], due)
        )
        return {"outcome": "ok"}

    def take(self, request: Any) -> dict[str, Any]:
        ends = ms() + request["wait_ms"]
        while True:
            values = {"queue": request["resource"], "now": ms(), "ttl": self.ttl}
            for job, attempt in self.database.execute(TAKE, values).fetchall():
                self.taken[job] = attempt
                return {"outcome": "ok", "job": job, "token": attempt}
            if ms() >= ends:
                return {"outcome": "failed", "reason": "no job came in time"}
            time.sleep(0.02)

    def complete(self, request: Any) -> dict[str, Any]:
        """A failed job is due again at once."""
        done = self.database.execute(
            "UPDATE job SET done = ?, ends = 0 WHERE job = ? AND attempt = ? AND NOT done",
            (not request["failed"], request["job"], self.taken.pop(request["job"], -1)),
        )
        return {"outcome": "ok" if done.rowcount else "failed", "reason": "another attempt has it"}

    def reconnect(self, _request: Any) -> dict[str, Any]:
        return {"outcome": "ok"}

    def answer(self, request: Any) -> dict[str, Any]:
        if request["op"] not in ("submit", "take", "complete", "reconnect"):
            return {"outcome": "unsupported"}
        done: dict[str, Any] = getattr(self, request["op"])(request)
        return done


def ms() -> int:
    return time.monotonic_ns() // 1_000_000


def main() -> None:
    program: Program | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if not isinstance(request, dict):
            continue
        if program is None:
            program = Program(sys.argv[1], request["lock"]["ttl_ms"])
            done: dict[str, Any] = {"outcome": "ok"}
        else:
            done = program.answer(request)
        sys.stdout.write(json.dumps({"id": request["id"], **done}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
