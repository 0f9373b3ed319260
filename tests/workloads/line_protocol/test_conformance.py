"""What `check-client` plays, on a correct program and on programs with one mistake each; no server."""

from __future__ import annotations

import sys
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.processes.program import ProgramCommand
from tests.support.repository import ROOT
from tests.support.systems import lock_settings, storage_settings
from tests.support.waiting import PATIENCE
from workloads.line_protocol.clients import set_up
from workloads.line_protocol.conformance import RESOURCES, Expected, conformance
from workloads.line_protocol.played import Check
from workloads.line_protocol.program_client import ProgramClient, ProgramError, start_fields

PROGRAM = ROOT / "tests/support/line_program.py"
TTL = 2_000_000_000  # ns; no lease ends during a check of a held lock, also on a busy machine


@pytest.fixture
def played(tmp_path: Path) -> Any:
    """Play the checks against the program, with a text of its source replaced; return those that do not fit."""

    def play(
        old: str,
        new: str,
        *sides: str,
        policy: str = "strict",
        fences: bool = False,
        aimed_at: AbstractSet[str] = frozenset(),
        all_of_it: bool = False,
    ) -> list[str]:
        source = PROGRAM.read_text()
        assert old in source
        program = tmp_path / "program.py"
        program.write_text(source.replace(old, new))
        (tmp_path / "file.db").unlink(missing_ok=True)
        command = ProgramCommand(words=(sys.executable, str(program), str(tmp_path / "file.db")), marks={})

        def begin(client: int | None) -> ProgramClient:
            lock = lock_settings("client", [], ttl=TTL)
            storage = storage_settings("client", [], fencing="compare", policy=policy)
            return ProgramClient(command.start, start_fields(client, lock, storage), timeout=1)

        first = begin(None)
        set_up(first, RESOURCES)
        first.close()
        expected = Expected(
            sides=frozenset(sides),
            ttl=TTL,
            fenced=True,
            policy=policy,
            fence_on_acquire=fences,
            served=frozenset(),
            aimed_at=aimed_at,
            grace=PATIENCE,
        )
        checks = conformance(begin, expected, lambda _side: nullcontext())
        return [said(each) for each in checks if all_of_it or not each.fits]

    return play


def said(check: Check) -> str:
    return f"{check.request}: {check.found}"


def test_a_correct_program_fits(played: Any) -> None:
    assert played("", "", "lock", "storage") == []


def test_a_program_may_end_at_a_line_that_is_no_request(played: Any) -> None:
    found = played("", "", "storage", all_of_it=True)

    assert """the line '{"id":': the program ended with status 1, as it may""" in found
    assert "the line '[]': the program ended with status 1, as it may" in found


HANGS = "no answer in time: every call needs a deadline; the rest was not played"


MISTAKES = {
    "hangs in read": (
        "storage",
        "def read(self, request: Any) -> dict[str, Any]:",
        "def read(self, _):\n        time.sleep(60)",
        f"read: {HANGS}",
    ),
    "hangs in release": (
        "lock",
        "def release(self, request: Any) -> dict[str, str]:",
        "def release(self, request):\n        time.sleep(60)",
        f"revoke: {HANGS}",  # it is the same method
    ),
    "revokes the lock of others": (
        "lock",
        "    revoke = release\n",
        """
    def revoke(self, request):
        self.database.execute("UPDATE lease SET ends = 0 WHERE resource = :resource", request)
        return {"outcome": "ok"}
""",
        "acquire of a held lock after the revoke of another owner: ok; expected failed",
    ),
    "releases the lock of others": (
        "lock",
        "resource = ? AND owner = ? AND ends > ?",
        "resource = ? AND length(?) AND ends > ?",
        "acquire of a held lock after the release by another owner: ok; expected failed",
    ),
    "reports renewals of a lock that it was refused": (
        "lock",
        "            time.sleep(0.02)\n",
        """
            say(event="renewed", resource=request["resource"], owner=request["owner"], ttl_ms=9, called_ns=now)
            time.sleep(0.02)
""",
        "renewed: by 1-8 of r0, which 0-5 holds: only its holder renews a lock",
    ),
    "renews the lock that it waits for": (
        "lock",
        "            time.sleep(0.02)\n",
        """
            self.database.execute(
                "UPDATE lease SET ends = ? WHERE resource = ?", (now + 2 * 10**9, request["resource"])
            )
            time.sleep(0.02)
""",
        "acquire after the holder was killed: .*; does another owner renew it?",
    ),
    "compares tokens as doubles": (
        "storage",
        "mark < :token OR",
        "CAST(mark AS real) < CAST(:token AS real) OR",
        "write with the next token above 2^53: stale; expected ok: many JSON libraries round numbers above",
    ),
    "says that it knows a request that it does not": (
        "lock",
        'outcome="ok", versions',
        'outcome="ok", stop=True, versions',
        'stop: unsupported; expected ok: answer it, or leave "stop" out of the answer to start',
    ),
    "rounds the tokens that it answers": (
        "storage",
        '"value": value, "token": token}',
        '"value": value, "token": int(float(token))}',
        "read of a token above 2^53: .*: many JSON libraries round numbers above 2^53",
    ),
    "refuses the next token": (
        "storage",
        "mark < :token OR",
        "mark < :token - 3 OR",
        "write with the next token: stale; expected ok",
    ),
    "answers twice": (
        "storage",
        'say(id=request["id"], **(handler',
        'say(id=request["id"], outcome="unsupported"); say(id=request["id"], **(handler',
        "answers: a second answer to the same request: ",
    ),
    "accepts every request": (
        "storage",
        'else {"outcome": "unsupported"}))',
        'else {"outcome": "ok"}))',
        "an unknown request: ok; expected unsupported",
    ),
    "refuses a new field": (
        "storage",
        "def reconnect(self, _request: Any) -> dict[str, str]:",
        'def reconnect(self, request):\n        if len(request) > 3: return {"outcome": "failed", "reason": "?"}',
        "an unknown field: failed (?); expected ok",
    ),
    "hangs after garbage": (
        "storage",
        "        request = json.loads(line)\n        handler",
        "        try: request = json.loads(line) | {}\n        except Exception: time.sleep(60)\n        handler",
        f"no-such-request after the line 'not JSON': {HANGS}",
    ),
    "answers garbage": (
        "storage",
        "        request = json.loads(line)\n        handler",
        """        try: request = {"id": 0} | json.loads(line)
        except Exception: say(id=request["id"] + 1, outcome="ok"); continue
        handler""",
        "the line 'not JSON': .*",  # read as an answer to the next request, or before that was sent
    ),
    "token is no number": (
        "storage",
        '"value": value, "token": token}',
        '"value": value, "token": str(token) + "."}',
        "read: the program said .*got `str`",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(played: Any, mistake: str) -> None:
    side, old, new, found = MISTAKES[mistake]

    wrong = played(old, new, side)

    assert [each for each in wrong if matches(found, each)], wrong


def test_doubles_let_an_older_token_through_where_equal_ones_may_pass(played: Any) -> None:
    compares_doubles = "CAST(mark AS real) = CAST(:token AS real) AND :inclusive"

    wrong = played(
        "mark = :token AND :inclusive", compares_doubles, "storage", policy="inclusive", fences=True
    )

    assert {each.partition(":")[0] for each in wrong} >= {
        "write with an older token above 2^53",
        "write below a fence above 2^53",
    }


@pytest.mark.slow
def test_a_token_that_libraries_round_is_better_a_string(played: Any) -> None:
    as_number, as_string = (
        played('"token": token, "ttl_ms"', f'"token": {sent}, "ttl_ms"', "lock", all_of_it=True)
        for sent in ("2**60 + token", "str(2**60 + token)")
    )

    advice = "many JSON libraries round numbers above 2^53: answer its digits as a string"
    assert as_number[1].endswith(f"; {advice}")
    assert not [each for each in as_string if advice in each]
    assert "acquire: token 1152921504606846977 " in as_string[1]


REPORTS_GRANTED = '            if row:\n                say(event="granted")\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "point", "op"), [("granted", "granted", "acquire"), ("sent", "write-sent", "write")]
)
def test_an_event_where_no_fault_stops_the_client_gets_advice(
    played: Any, event: str, point: str, op: str
) -> None:
    to = ("            if row:\n", REPORTS_GRANTED, "lock", "storage")
    advice = f' (event {event}: a pause with hazards = "all" stops the client there, too)'

    unaimed, aimed = played(*to, all_of_it=True), played(*to, aimed_at={point}, all_of_it=True)

    assert any(each.startswith(f"{op}: ") and advice in each for each in unaimed)
    assert not [each for each in aimed if advice in each]


SENT = '        say(id=request["id"], event="sent")\n'


@pytest.mark.slow
def test_the_moment_of_an_event_that_never_came_is_named(played: Any) -> None:
    silent = (SENT, "        pass\n", "storage")

    (line,) = (each for each in played(*silent, all_of_it=True) if each.startswith("events: "))

    assert line == "events: no event sent: the moments write-sent/… cannot be aimed at; see docs/hazards.md"
    assert played(*silent) == [], "it is no mistake"


@pytest.mark.slow
def test_no_moment_is_named_of_a_program_that_reports_every_event(played: Any) -> None:
    found = played("            if row:\n", REPORTS_GRANTED, "lock", "storage", all_of_it=True)

    assert not [each for each in found if each.startswith("events: ")]


READY = '    say(id=first["id"], outcome="ok"'
KNOWS_STOP = f"""
    Program.stop = lambda self, request: self.release(request) if request["owner"] else {{"outcome": "ok"}}
{READY}, stop=True"""


@pytest.mark.slow
def test_only_a_program_that_knows_the_request_stop_gets_it(played: Any) -> None:
    knows, does_not = (played(READY, new, "lock", all_of_it=True) for new in (KNOWS_STOP, READY))

    assert {"stop: ok", "acquire after the stop: ok", "stop without a lock: ok"} <= set(knows)
    assert not [each for each in does_not if each.startswith("stop")]


def test_a_failed_acquire_says_what_it_leaves_unchecked(played: Any) -> None:
    (wrong,) = played('"token": ', '"tokn": ', "lock")

    assert "`token` is missing: an integer from 0 to 2^63 - 1" in wrong
    assert wrong.endswith("; not checked because of that: everything else of the lock")


def matches(found: str, said: str) -> bool:
    beginning, _, rest = found.partition(".*")
    return said.startswith(beginning) and rest in said


def test_a_program_that_cannot_start_again_is_named(played: Any) -> None:
    once = 'main() -> None:\n    import pathlib; first = json.loads(sys.stdin.readline())\n    pathlib.Path(sys.argv[1] + str(first["client"])).touch(exist_ok=False)\n'

    with pytest.raises(ProgramError, match=r"did not become ready: .*; it ended with status 1"):
        played("main() -> None:\n    first = json.loads(sys.stdin.readline())\n", once, "storage")
