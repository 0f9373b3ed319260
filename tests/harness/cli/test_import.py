"""What `fencepost import` leaves out of another tool's history, and when it does nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def test_an_import_says_what_it_leaves_out(fencepost: Any, tmp_path: Path) -> None:
    lock, register = tmp_path / "lock.edn", tmp_path / "register.edn"
    lock.write_text(
        "".join(
            f"{{:type {kind}, :f {f}, :process 0}}\n"
            for f in (":acquire", ":release")
            for kind in (":invoke", ":ok")
        )
    )
    register.write_text(
        "{:type :invoke, :f :read, :process 0}\n{:type :fail, :f :read, :process 0}\n"
        "{:type :invoke, :f :read, :process 1}\n{:type :info, :f :read, :process 1}\n"
        "{:type :invoke, :f :read, :process 2}\n{:type :ok, :f :read, :process 2}\n"
    )

    of_lock = fencepost("import", lock, "--model", "owned-mutex", "-o", "-").stderr
    of_register = fencepost("import", register, "--model", "register", "-o", "-").stderr

    assert of_lock == "note: 1 operation is left out: a grant without a token shows nothing about tokens\n"
    assert of_register == (
        "note: 1 operation is left out: a failure shows nothing\n"
        "note: 1 operation is left out: a read without an answer shows nothing\n"
    )


def test_an_import_names_the_operations_of_other_objects(fencepost: Any, tmp_path: Path) -> None:
    ours = tmp_path / "history.jsonl"
    hold = {"resource": "r0", "process": 0}
    events = [
        {"time": 1, "type": "invoke", "f": "acquire", "owner": "a", **hold},
        {"time": 2, "type": "ok", "f": "acquire", "owner": "a", "token": 1, **hold},
        {"time": 3, "type": "invoke", "f": "read", **hold},
        {"time": 4, "type": "ok", "f": "read", "token": 0, "value": None, **hold},
        {"time": 5, "type": "invoke", "f": "release", "owner": "a", **hold},
        {"time": 6, "type": "ok", "f": "release", "owner": "a", **hold},
    ]
    lines = [{"fencepost": 1, "target": "t"}, *events]
    ours.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    said = fencepost("import", ours, "--model", "register", "-o", "-").stderr

    assert said == "note: 2 operations are left out, which cannot change a register: acquire ×1, release ×1\n"


def test_an_import_without_an_operation_says_so(fencepost: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]")

    ran = fencepost("import", "empty.json", "--model", "register", "-o", "-")

    assert (ran.returncode, ran.stdout.count("\n")) == (0, 1)
    assert ran.stderr == "note: there is no operation to import: only the header is written\n"
