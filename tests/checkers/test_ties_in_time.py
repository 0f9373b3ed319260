"""Operations that touch at a moment are concurrent, in every checker and for every order of their lines."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from checkers.history.reader import parse
from checkers.models.judge import judge_foreign
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity
from tests.support.differential import disagreements, random_histories
from tests.support.selection import nightly

HEADER = {"fencepost": 1, "target": "t", "fenced": False, "policy": "inclusive", "require": {}}


def register_of_clients(rng: random.Random) -> list[str]:
    """Lines of a register: few moments, and clients that ask again at the moment of their last answer."""
    values: list[str | None] = [None]
    lines = []
    for client in range(rng.randint(2, 3)):
        now = rng.randint(0, 3)
        for number in range(rng.randint(1, 3)):
            ended = now + rng.choice([0, 1, 1, 2])
            is_read = rng.random() < 0.5
            value = rng.choice([*values, f"v{client}.0"]) if is_read else f"v{client}.{number}"
            if not is_read:
                values.append(value)
            asked = {"process": client, "f": "read" if is_read else "write", "resource": "r0"}
            written = {} if is_read else {"token": 0, "value": value}
            lines.append((now, client, {"time": now, "type": "invoke", **asked, **written}))
            lines.append((ended, client, {"time": ended, "type": "ok", **asked, "token": 0, "value": value}))
            now = ended + rng.choice([0, 0, 1])
    rng.shuffle(orders := list(range(3)))
    lines.sort(key=lambda line: (line[0], orders[line[1]]))  # a client's own lines keep their order
    return [json.dumps(HEADER), *(json.dumps(line) for _, _, line in lines)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *nightly(1)])
def test_the_register_model_and_the_checkers_say_the_same(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"

    def by_model(lines: list[str]) -> bool:
        path.write_text("".join(f"{line}\n" for line in lines))
        return judge_foreign(path, "register").verdict.validity is Validity.INVALID

    def by_checkers(lines: list[str]) -> bool:
        return bool(judge(parse(f"{line}\n" for line in lines)).findings)

    assert not disagreements(random_histories(register_of_clients, f"ties {seed}"), by_model, by_checkers)


def test_a_call_at_the_moment_of_the_last_answer_orders_nothing(tmp_path: Path) -> None:
    events = [
        (0, 0, "invoke", "write", "a"),
        (5, 0, "ok", "write", "a"),
        (5, 1, "invoke", "read", None),
        (6, 1, "ok", "read", None),
    ]
    lines = [json.dumps(HEADER)]
    for time, process, kind, f, value in events:
        asked = {"time": time, "process": process, "type": kind, "f": f, "resource": "r0", "token": 0}
        lines.append(json.dumps(asked | ({} if (f, kind) == ("read", "invoke") else {"value": value})))
    path = tmp_path / "history.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))

    assert judge(parse(f"{line}\n" for line in lines)).findings == ()
    assert judge_foreign(path, "register").verdict.validity is Validity.VALID
