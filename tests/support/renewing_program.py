"""A lock in one SQLite file that renews itself, or does what a card's plays look for.

`renewing_program.py FILE VERSION [word…]`; each word is a habit, good or bad.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from typing import Any

from tests.support.line_program import Program, answer_requests, say

HABITS = frozenset(sys.argv[3:])
RENEWS = "UPDATE lease SET ends = :ends WHERE resource = :resource AND owner = :owner AND ends > :now"
RETAKES = "UPDATE lease SET ends = :ends, owner = :owner WHERE resource = :resource AND ends < :now"


class RenewingProgram(Program):
    def __init__(self, file: str, config: Any) -> None:
        super().__init__(file, config)
        self.file = file
        self.held: dict[str, str] = {}  # resources, by owner
        self.granted: set[str] = set()
        self.answers_nothing = False
        self.is_new = True
        if "never-ends" in HABITS:
            self.ttl = 1_000_000
        self.lost: set[str] = set()  # owners, as soon as a renewal was refused
        threading.Thread(target=self.keep, daemon=True).start()

    def keep(self) -> None:
        database = sqlite3.connect(self.file, isolation_level=None, timeout=5)
        while True:
            time.sleep(self.ttl / 10_000)
            now = time.monotonic_ns()
            for owner, resource in list(self.held.items()):
                known = {"owner": owner, "resource": resource, "now": now, "ends": now + self.ttl * 1_000_000}
                for habit, statement in (("renews", RENEWS), ("retakes", RETAKES)):
                    if habit in HABITS and not database.execute(statement, known).rowcount:
                        self.lost.add(owner)

    def acquire(self, request: Any) -> dict[str, Any]:
        if self.answers_nothing or ("loses-its-session" in HABITS and self.is_new):
            self.is_new = False
            return {"outcome": "unknown"}
        if "shares" in HABITS:
            return {"outcome": "ok", "token": None, "ttl_ms": self.ttl}
        if "queues" in HABITS:
            return self.acquire_in_turn(request)
        answer = super().acquire(request)
        if answer["outcome"] == "ok":
            self.granted.add(request["owner"])
            if not (request.get("reenter") and "forgets" in HABITS):
                self.held[request["owner"]] = request["resource"]
        return answer

    def acquire_in_turn(self, request: Any) -> dict[str, Any]:
        ticket = {"resource": request["resource"], "owner": request["owner"]}
        self.database.execute("INSERT INTO ticket VALUES (NULL, :resource, :owner)", ticket)
        deadline = time.monotonic() + request["wait_ms"] / 1000
        try:
            while time.monotonic() < deadline:
                first = "SELECT owner FROM ticket WHERE resource = :resource ORDER BY number LIMIT 1"
                if self.database.execute(first, ticket).fetchone() == (request["owner"],):
                    return super().acquire(request)
                time.sleep(0.02)
            return {"outcome": "failed", "reason": "not free in time"}
        finally:
            self.database.execute("DELETE FROM ticket WHERE owner = :owner", ticket)

    def release(self, request: Any) -> dict[str, str]:
        if "breaks-once" in HABITS and self.is_new:
            self.is_new, self.answers_nothing = False, True
            return {"outcome": "unknown"}
        self.held.pop(request["owner"], None)
        if "frees-any" in HABITS or ("frees-late" in HABITS and request["owner"] in self.granted):
            self.database.execute("UPDATE lease SET ends = 0 WHERE resource = ?", (request["resource"],))
            return {"outcome": "ok"}
        if "trusts-its-renewals" in HABITS and request["owner"] in self.granted - self.lost:
            super().release(request)
            return {"outcome": "ok"}
        return super().release(request)

    def reconnect(self, _request: Any) -> dict[str, str]:
        self.answers_nothing = False
        return {"outcome": "ok"}

    def set_up(self, request: Any) -> dict[str, str]:
        self.database.executescript("CREATE TABLE ticket (number INTEGER PRIMARY KEY, resource, owner)")
        return super().set_up(request)


def main() -> None:
    first = json.loads(sys.stdin.readline())
    program = RenewingProgram(sys.argv[1], first)
    say(id=first["id"], outcome="ok", versions={"mine": sys.argv[2]}, reenter="reenters" in HABITS)
    answer_requests(program)


if __name__ == "__main__":
    main()
