"""A client's program for tests: a lock and a storage in one SQLite file, over the line protocol.

`line_program.py FILE [forgetful] [tokenless]`: forgetful does not report the order of accepted writes, and
tokenless gives no tokens.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from typing import Any

TABLES = """
DROP TABLE IF EXISTS lease;
DROP TABLE IF EXISTS register;
DROP TABLE IF EXISTS audit;
CREATE TABLE lease (resource text PRIMARY KEY, owner text, token integer, ends integer);
CREATE TABLE register (resource text PRIMARY KEY, value text, token integer, mark integer);
CREATE TABLE audit (seq integer PRIMARY KEY, resource text, token integer, value text, fence integer);
"""
WRITE = """
UPDATE register SET value = :value, token = :token, mark = :token WHERE resource = :resource
AND (mark < :token OR (mark = :token AND :inclusive) OR NOT :fenced)
"""


class Program:
    def __init__(self, file: str, config: Any) -> None:
        self.database = sqlite3.connect(file, isolation_level=None, timeout=5)
        lock, storage = config["lock"] or {}, config["storage"] or {}  # null: not the program's side
        self.ttl = lock.get("ttl_ms")
        self.fenced = storage.get("fencing") != "none"
        self.inclusive = storage.get("policy") == "inclusive"

    def set_up(self, request: Any) -> dict[str, str]:
        self.database.executescript(TABLES)
        for resource in request["resources"]:
            self.database.execute("INSERT INTO lease VALUES (?, '', 0, 0)", (resource,))
            self.database.execute("INSERT INTO register VALUES (?, NULL, 0, 0)", (resource,))
        return {"outcome": "ok"}

    def acquire(self, request: Any) -> dict[str, Any]:
        deadline = time.monotonic() + request["wait_ms"] / 1000
        while time.monotonic() < deadline:
            now = time.monotonic_ns()
            row = self.database.execute(
                "UPDATE lease SET owner = ?, token = token + 1, ends = ? WHERE resource = ? AND ends < ? RETURNING token",
                (request["owner"], now + self.ttl * 1_000_000, request["resource"], now),
            ).fetchall()
            if row:
                token = None if "tokenless" in sys.argv else row[0][0]
                return {"outcome": "ok", "token": token, "ttl_ms": self.ttl, "attempt_ns": now}
            time.sleep(0.02)
        return {"outcome": "failed", "reason": "not free in time"}

    def release(self, request: Any) -> dict[str, str]:
        done = self.database.execute(
            "UPDATE lease SET ends = 0 WHERE resource = ? AND owner = ? AND ends > ?",
            (request["resource"], request["owner"], time.monotonic_ns()),
        )
        return {"outcome": "ok" if done.rowcount else "failed"}

    revoke = release

    def write(self, request: Any) -> dict[str, str]:
        say(id=request["id"], event="sent")
        self.database.execute("BEGIN IMMEDIATE")
        done = self.database.execute(WRITE, {**request, "fenced": self.fenced, "inclusive": self.inclusive})
        if done.rowcount:
            self.database.execute(
                "INSERT INTO audit VALUES (NULL, :resource, :token, :value, FALSE)", request
            )
        self.database.execute("COMMIT")
        return {"outcome": "ok" if done.rowcount else "stale"}

    def fence(self, request: Any) -> dict[str, str]:
        self.database.execute("BEGIN IMMEDIATE")
        done = self.database.execute(
            "UPDATE register SET mark = :token WHERE resource = :resource AND mark <= :token", request
        )
        if done.rowcount:
            self.database.execute("INSERT INTO audit VALUES (NULL, :resource, :token, NULL, TRUE)", request)
        self.database.execute("COMMIT")
        return {"outcome": "ok" if done.rowcount else "stale"}

    def read(self, request: Any) -> dict[str, Any]:
        value, token = self.database.execute(
            "SELECT value, token FROM register WHERE resource = :resource", request
        ).fetchone()
        return {"outcome": "ok", "value": value, "token": token}

    def reconnect(self, _request: Any) -> dict[str, str]:
        return {"outcome": "ok"}

    def committed(self, request: Any) -> dict[str, str]:
        if "forgetful" in sys.argv:
            return {"outcome": "unsupported"}
        for resource, token, value, fence in self.database.execute(
            "SELECT resource, token, value, fence FROM audit ORDER BY seq"
        ):
            what = {"fence": True} if fence else {"value": value}
            say(id=request["id"], event="commit", resource=resource, token=token, **what)
        return {"outcome": "ok"}


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main() -> None:
    first = json.loads(sys.stdin.readline())
    program = Program(sys.argv[1], first)
    say(id=first["id"], outcome="ok", versions={"sqlite": sqlite3.sqlite_version})
    answer_requests(program)


def answer_requests(program: Program) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        handler = getattr(program, request["op"], None)
        say(id=request["id"], **(handler(request) if handler else {"outcome": "unsupported"}))


if __name__ == "__main__":
    main()
