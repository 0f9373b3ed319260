"""The summaries of refusals without a cause."""

from __future__ import annotations

import json

import pytest

from checkers.history.reader import parse
from checkers.verdict.judge import judge


@pytest.mark.parametrize(("policy", "tokens"), [("strict", "newer or equal"), ("inclusive", "newer")])
def test_a_false_rejection_says_which_tokens_would_have_been_its_cause(policy: str, tokens: str) -> None:
    write = {"process": 0, "f": "write", "resource": "r0", "token": 33, "value": "a"}
    lines = [
        {"fencepost": 1, "target": "test", "fenced": True, "policy": policy},
        {"time": 0, **write, "type": "invoke"},
        {"time": 100_000_000, **write, "type": "fail", "error": "stale"},
    ]
    (finding,) = judge(parse([json.dumps(line) + "\n" for line in lines])).findings

    assert finding.account.summary == (
        "the storage refused process 0's write of 'a' with token 33 to r0 as stale,"
        f" though no {tokens} token can have been accepted"
    )
