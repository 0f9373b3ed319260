"""What a stranger may hand over: small, and with a word for every text in it.

A maker writes its subject into a folder. It asks `words` for each text, which is harmless except for
the one under attack.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.hostile.nights import corpus, results, shard
from fuzzing.hostile.runs import judged, run, runs
from fuzzing.hostile.words import Words, as_name, in_toml, write, write_lines
from fuzzing.surfaces import ROOT


def foreign(words: Words, folder: Path) -> None:
    """Write histories of other tools."""
    key, value = words("key of Jepsen", "x"), words("value of Jepsen", "1")
    lines: list[dict[str, Any]] = [
        {"process": 0, "type": "invoke", "f": "write", "value": value, "time": 1},
        {"process": 0, "type": "ok", "f": "write", "value": value, "time": 2},
        {"process": 1, "type": "invoke", "f": "read", "value": None, "time": 3},
        {"process": 1, "type": "ok", "f": "read", "value": words("value read", "2"), "time": 4},
    ]
    write_lines(folder / "jepsen.json", lines)
    names = {"write": words("operation of Jepsen", "write"), "read": "read"}
    keyed = [each | {"f": names[each["f"]], "value": [key, each["value"]]} for each in lines]
    write_lines(folder / "keyed.json", keyed)
    edn = "".join(
        "{" + ", ".join(f":{name} {_edn(each)}" for name, each in line.items()) + "}\n" for line in lines
    )
    write(folder / "jepsen.edn", edn)
    broken = [{**lines[0], words("unknown key", "extra"): 1, "type": words("unknown outcome", "maybe")}]
    write_lines(folder / "broken.json", broken)


def _edn(value: object) -> str:
    if value in {"invoke", "ok", "write", "read"}:
        return f":{value}"
    return "nil" if value is None else json.dumps(value)


def target(words: Words, folder: Path) -> None:
    """Write the target file of somebody else, with errors, under a name of somebody else."""
    text = (ROOT / "targets" / "etcd-postgres.toml").read_text(encoding="utf-8")
    write(
        folder / f"{as_name(words('file', 'broken'))}.toml",
        f"{in_toml(words('unknown section', 'x'))} = 1\n{text}\n"
        f"[[faults]]\nkind = {in_toml(words('unknown kind', 'melt'))}\n"
        f'[[faults]]\nkind = "pause"\n{in_toml(words("key of a target", "y"))} = {in_toml(words("value of a key", "z"))}\n',
    )
    write(
        folder / "named.toml",
        text.replace('name = "etcd-postgres"', f"name = {in_toml(words('name', 'etcd-postgres'))}"),
    )
    write(folder / "invalid.toml", f"name = {words('invalid TOML', '= =')}\n")
    run(Words(), folder / "runs" / as_name(words("folder of runs", "t")) / "20261122T030000-0a1b2c3d")


def logs(words: Words, folder: Path) -> None:
    """Write what a server, a client and a program have said before they failed."""
    write(folder / "server.log", words("log of a server", "starting\ncannot bind\n"))
    write(folder / "logs" / "client-0.log", words("stderr of a client", "sh: x: not found\nKeyError: 'x'\n"))
    write(folder / "failure", words("failure of a client", "KeyError: 'x'"))
    write(folder / "detail", words("answer of a server", "FATAL: no"))


SUBJECTS: dict[str, Callable[[Words, Path], None]] = {
    "run": run,
    "judged": judged,
    "runs": runs,
    "shard": shard,
    "results": results,
    "corpus": corpus,
    "foreign": foreign,
    "target": target,
    "logs": logs,
}
"""The makers, by name."""
