"""A lock for tests that takes its expired lock again without a word, in its renewals or at its release.

`retaking_lock.py FILE renew|release`: a program of the line protocol, with its leases in an SQLite file.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from typing import Any

MINE = "owner = :owner AND ends > :now"
EXPIRED = "ends <= :now"
TAKE = "owner = :owner, ends = :now + :ttl"
FREE = "ends = 0"


class Program:
    def __init__(self, file: str, retakes: str, config: Any) -> None:
        self.file = file
        self.renews = retakes == "renew"
        self.ttl = config["lock"]["ttl_ms"]
        self.held: dict[str, threading.Event] = {}
        with sqlite3.connect(file, timeout=5) as database:
            database.execute("CREATE TABLE IF NOT EXISTS lease (resource PRIMARY KEY, owner, ends)")

    def change(self, change: str, where: str, request: Any) -> bool:
        """Change a lease in one statement, if it is in that state."""
        values = {**request, "now": time.monotonic_ns(), "ttl": self.ttl * 1_000_000}
        statement = f"UPDATE lease SET {change} WHERE resource = :resource AND ({where})"  # noqa: S608 - no text of others
        with sqlite3.connect(self.file, timeout=5) as database:
            database.execute("INSERT OR IGNORE INTO lease VALUES (:resource, '', 0)", request)
            return database.execute(statement, values).rowcount > 0

    def renew(self, request: Any, released: threading.Event) -> None:
        while not released.wait(self.ttl / 3000):
            self.change(TAKE, f"{MINE} OR {EXPIRED}", request)

    def acquire(self, request: Any) -> dict[str, Any]:
        deadline = time.monotonic() + request["wait_ms"] / 1000
        while time.monotonic() < deadline:
            attempt = time.monotonic_ns()
            if self.change(TAKE, EXPIRED, request):
                released = self.held[request["owner"]] = threading.Event()
                if self.renews:
                    threading.Thread(target=self.renew, args=(request, released), daemon=True).start()
                return {"outcome": "ok", "token": None, "ttl_ms": self.ttl, "attempt_ns": attempt}
            time.sleep(0.01)
        return {"outcome": "failed", "reason": "not free in time"}

    def release(self, request: Any) -> dict[str, Any]:
        self.held.pop(request["owner"], threading.Event()).set()
        where = MINE if self.renews else f"{MINE} OR {EXPIRED}"
        return {"outcome": "ok" if self.change(FREE, where, request) else "failed"}

    revoke = release

    def reconnect(self, _request: Any) -> dict[str, str]:
        return {"outcome": "ok"}


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main() -> None:
    first = json.loads(sys.stdin.readline())
    file, retakes = sys.argv[1:]
    program = Program(file, retakes, first)
    say(id=first["id"], outcome="ok")
    for line in sys.stdin:
        request = json.loads(line)
        known = request["op"] in ("acquire", "release", "revoke", "reconnect")
        answer = getattr(program, request["op"])(request) if known else {"outcome": "unsupported"}
        say(id=request["id"], **answer)


if __name__ == "__main__":
    main()
