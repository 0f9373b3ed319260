"""The attack surfaces: each has seeds, and a way to pass a hostile one to its reader.

Its `act` runs in a separate process, in an empty folder, and returns the exit code of the
command, or 0 if it calls a reader, which may raise only its documented errors.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fuzzing import nights

ROOT = Path(__file__).parents[1]
HISTORIES = ROOT / "tests" / "histories"
LONGEST_WORD = (1 << 17) - 1
"""The maximum size of a command-line argument on Linux, in bytes."""
MODELS = (
    "register",
    "cas-register",
    "fenced-mutex",
    "reentrant-fenced-mutex",
    "owned-mutex",
    "set",
    "counter",
    "kv",
)

Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Surface:
    """A reader of untrusted input."""

    seeds: Callable[[], tuple[Files, ...]]
    """Valid inputs: files by name. One of them is edited or removed."""
    act: Callable[[int], int]
    """Pass the files of the current folder to the reader, in one of several ways."""


def command(*arguments: str) -> int:
    """Run the command like a user, and return its exit code."""
    from harness.cli import main

    try:
        main(arguments)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _target(way: int) -> int:
    return command("validate", *["t.toml", "."][way % 2 : way % 2 + 1])


def _setting(_way: int) -> int:
    options = Path("options").read_bytes().replace(b"\0", b"").split(b"\n")
    words = [word for option in options[:20] for word in ("--set", os.fsdecode(option[:LONGEST_WORD]))]
    return command("validate", "t.toml", *words)


def _history(way: int) -> int:
    extra = [[], ["--format", "json"], ["--model", MODELS[way % len(MODELS)]], []][way % 4]
    commits = ["--commits", "commits.jsonl"] if Path("commits.jsonl").exists() and way % 4 != 2 else []
    return command("recheck", "history.jsonl", *commits, *extra)


def _run_folder(way: int) -> int:
    return command(
        ["recheck", "show", "recheck", "export"][way % 4], ".", *["--to", "jepsen-edn"] * (way % 4 == 3)
    )


def _foreign(way: int) -> int:
    model = MODELS[way % len(MODELS)]
    commands = (
        ["recheck", "history", "--model", model],
        ["recheck", "history", "--model", model, "--format", "json"],
        ["recheck", "history", "--model", model, "--initial", "0"],
        ["import", "history", "--model", model],
        ["export", "history", "--to", "jepsen-edn"],
        ["export", "history", "--to", "porcupine-etcd", "--model", "cas-register"],
    )
    return command(*commands[way // len(MODELS) % len(commands)])


def _name(way: int) -> int:
    word = os.fsdecode(Path("word").read_bytes().replace(b"\0", b"")[:LONGEST_WORD])
    commands = (
        ["validate", word],
        ["recheck", word],
        ["recheck", word, "--model", word],
        ["show", word],
        ["show", "x", "--runs", word],
        ["import", word, "--model", "register"],
        ["export", word, "--to", "jepsen-edn"],
        ["schema", word],
        [word],
        ["run", "no-such-target", "--seed", word],
    )
    return command(*commands[way % len(commands)])


def _line_protocol(way: int) -> int:
    """The user's program answers every request with the next line of a file."""
    from workloads.client import NotApplied, Unknown
    from workloads.line_protocol import program_client
    from workloads.line_protocol.program_client import ProgramClient, ProgramError

    program_client.STARTING, program_client.GRACE = 0.3, 0.1  # shorter deadlines are tested just as well
    program = _Program(Path("answers").read_bytes())
    with contextlib.suppress(NotApplied, Unknown, ProgramError):
        client = ProgramClient(lambda: program, {"protocol": 1}, timeout=0.2)
        for op in ("acquire", "write", "read", "release")[way % 4 :]:
            with contextlib.suppress(NotApplied, Unknown):
                client.request(op, resource="r0", token=1)
    return 0


class _Program:
    """Answers each request with the next line."""

    def __init__(self, answers: bytes) -> None:
        self.reading, stdout = os.pipe()
        stdin, self.writing = os.pipe()
        threading.Thread(target=self._talk, args=(stdin, stdout, answers), daemon=True).start()

    @staticmethod
    def _talk(stdin: int, stdout: int, answers: bytes) -> None:
        with contextlib.suppress(OSError):
            for number, answer in enumerate(answers.splitlines(keepends=True), start=1):
                if not os.read(stdin, 1 << 16):
                    break
                os.write(stdout, answer.replace(b"$ID", str(number).encode()))
            os.close(stdout)

    @property
    def has_ended(self) -> bool:
        return False

    def ending(self) -> str:
        return "still runs"

    def terminate(self) -> None:
        self.end()

    def close_input(self) -> None:
        self.end()

    def end(self) -> None:
        for each in (self.reading, self.writing):
            with contextlib.suppress(OSError):
                os.close(each)


def _http(way: int) -> int:
    """The user's service answers every request with the bytes of a file."""
    from workloads.client import NotApplied, Unknown
    from workloads.http_connection import MAX_BODY, HttpConnection
    from workloads.http_contract import Acknowledgement, HttpService

    server = socket.create_server(("127.0.0.1", 0))
    answer = Path("answer").read_bytes()
    threading.Thread(target=_serve, args=(server, answer), daemon=True).start()
    connection = HttpConnection(f"127.0.0.1:{server.getsockname()[1]}", timeout=0.5)
    for _ in range(2):
        with contextlib.suppress(NotApplied, Unknown):
            if way % 2:
                HttpService(connection, "").request("/locks/acquire", "r0", Acknowledgement)
            else:
                HttpService(connection, "").request_list("/commits", list[Acknowledgement], MAX_BODY)
    return 0


def _serve(server: socket.socket, answer: bytes) -> None:
    while True:
        client, _ = server.accept()
        with client, contextlib.suppress(OSError):
            client.recv(1 << 16)
            client.sendall(answer)


@cache
def _targets() -> tuple[Files, ...]:
    files = sorted([*(ROOT / "targets").glob("*.toml"), *(ROOT / "examples").rglob("*.toml")])
    return tuple({"t.toml": file.read_bytes()} for file in files)


_SETTINGS = (
    b"workload.clients=10\nlock.ttl=3s\nfaults.0.until=1.5 ttl",
    b'expect=["stale-write"]\nmay=[]\nrequire.pauses=0',
    b'faults=[]\nstorage.fencing="none"',
    b"lock={kind = 'redis'}\nworkload={}",
    b"faults.0.kind=kill\nfaults.0.target=lock\nfaults.1.x.y.z=1",
)


def _settings() -> tuple[Files, ...]:
    target = (ROOT / "targets" / "etcd-postgres.toml").read_bytes()
    return tuple({"options": options, "t.toml": target} for options in _SETTINGS)


@cache
def _histories() -> tuple[Files, ...]:
    return tuple(
        _with_commits(file) for file in sorted(HISTORIES.glob("*/*.jsonl")) if ".commits" not in file.name
    )


def _with_commits(history: Path) -> Files:
    commits = history.with_name(f"{history.stem}.commits.jsonl")
    order = {"commits.jsonl": commits.read_bytes()} if commits.exists() else {}
    return {"history.jsonl": history.read_bytes()} | order


@cache
def _run_folders() -> tuple[Files, ...]:
    return tuple(map(_as_run_folder, _histories()[::4]))


def _as_run_folder(recorded: Files) -> Files:
    """Return all files of a run folder, for a history."""
    from checkers.history.reader import parse
    from checkers.text.errors import HistoryError
    from checkers.verdict.judge import judge

    lines = recorded["history.jsonl"].splitlines(keepends=True)
    with contextlib.suppress(HistoryError):
        verdict = judge(parse(lines)).to_document()
        return {
            **recorded,
            "verdict.json": json.dumps(verdict).encode(),
            "plan.json": _PLAN,
            "environment.json": _ENVIRONMENT,
            "target.toml": (ROOT / "targets" / "etcd-postgres.toml").read_bytes(),
            "header.json": lines[0],
            "events/client-0.jsonl": b"".join(lines[1:]),
        }
    return recorded


_PLAN = json.dumps(
    {
        "seed": 7,
        "started": 0,
        "duration": 10**10,
        "planned": [{"kind": "pause", "target": "holder", "at": "before-write", "moments": []}],
        "faults": [
            {"kind": "pause", "target": "client:0", "resource": "r0", "owner": "0-1", "at": "before-write"}
            | {
                "requested": 1,
                "in_force": 2,
                "healed": 3,
                "evidence": "status is stopped",
                "healed_evidence": "running",
            }
        ],
    }
).encode()
_ENVIRONMENT = json.dumps(
    {
        "engine": {"name": "docker", "version": "20.10"},
        "servers": {"etcd-1": {"version": "3.5"}},
        "images": {"etcd-1": {"name": "fencepost/etcd", "digests": ["sha256:0"], "id": "sha256:1"}},
        "fencepost": "0.1.0",
        "cpus": 2,
        "command": ["fencepost", "run", "etcd-postgres"],
        "again": ["--engine", "docker"],
    }
).encode()


@cache
def _foreigns() -> tuple[Files, ...]:
    golden = (".facts.json", "words.txt")
    files = sorted(file for file in (HISTORIES / "foreign").iterdir() if not file.name.endswith(golden))
    contents = [file.read_bytes() for file in files if file.is_file()]
    return tuple({"history": each} for each in (*contents, *map(gzip.compress, contents)))


_ANSWERS = (
    b'{"id":$ID,"outcome":"ok"}\n',
    b'{"id":$ID,"event":"sent"}\n',
    b'{"id":$ID,"outcome":"ok","token":7,"ttl_ms":2000}\n',
    b'{"id":$ID,"outcome":"ok","value":"a","token":7}\n',
    b'{"id":$ID,"outcome":"failed","reason":"no"}\n',
    b'{"event":"renewed","resource":"r0","owner":"o","ok":true}\n',
)


def _programs() -> tuple[Files, ...]:
    start = _ANSWERS[0]
    return tuple({"answers": start + b"".join(_ANSWERS[place:])} for place in range(len(_ANSWERS)))


_BODY = b'{"resource_id":"r0"}'
_REPLIES = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n" + _BODY,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + _BODY + b"\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[" + _BODY + b"]",
    b'HTTP/1.1 409 Conflict\r\nContent-Length: 17\r\n\r\n{"error":"stale"}',
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n" + _BODY,
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
)


def _words() -> Iterator[Files]:
    for word in (
        b"etcd-postgres",
        b"runs/etcd-postgres/latest",
        b"etcd-*",
        b"./t.toml",
        b"register",
        b"12345",
        b"--help",
    ):
        yield {"word": word}


SURFACES: dict[str, Surface] = {
    "target": Surface(_targets, _target),
    "setting": Surface(_settings, _setting),
    "history": Surface(_histories, _history),
    "run-folder": Surface(_run_folders, _run_folder),
    "foreign": Surface(_foreigns, _foreign),
    "shard": Surface(lambda: tuple(map(nights.of_run, _run_folders())), nights.join),
    "results": Surface(nights.results, nights.read_results),
    "name": Surface(lambda: tuple(_words()), _name),
    "line-protocol": Surface(_programs, _line_protocol),
    "http": Surface(lambda: tuple({"answer": reply} for reply in _REPLIES), _http),
}
"""The surfaces by name, for `python -m fuzzing NAME`."""
