"""`fencepost recheck` of history files."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from tests.support.short_histories import event, grant, superseded, write

EXPECTED: dict[str, Any] = {"expect": ["stale-write"], "fenced": False}


@pytest.mark.parametrize(
    ("events", "header", "code", "said"),
    [
        (superseded("fail"), {}, 0, "t  The fence held: 1 of 1 stale write refused\n"),
        (superseded("ok"), {}, 1, "t  BUG: the storage accepted a stale write\n"),
        (superseded("ok"), EXPECTED, 0, "t  Found as expected: the storage accepted a stale write\n"),
        (superseded("fail"), EXPECTED, 1, "this target expects stale-write, but this run did not find it"),
        ([*grant(10, 0, 33), *write(20, 0, 33, "ok")], {}, 2, "t  Not tested: "),
    ],
    ids=["it held", "stale", "stale as expected", "not found", "not tested"],
)
def test_an_exit_code_and_a_headline_say_what_was_found(
    fencepost: Any, history: Any, events: Any, header: dict[str, Any], code: int, said: str
) -> None:
    done = fencepost("recheck", history(events, **header))

    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout if code == 1 else done.stdout.startswith(said)
    assert "\n    1. " not in done.stdout or code == 1


def test_all_that_a_verdict_rests_on_is_printed_on_request(fencepost: Any, history: Any) -> None:
    recorded = history(superseded("ok"), **EXPECTED)

    for option in ("-v", "--verbose"):
        done = fencepost("recheck", option, recorded)

        assert "\n    1. " in done.stdout
        assert "\n  Verdict: invalid, as this target expects\n" in done.stdout
        assert "stale writes accepted 1" in done.stdout
        assert re.search(r"\n  double-belief +valid +observed +\d+\.\d{3} s\n", done.stdout)


@pytest.mark.slow
def test_json_output_is_only_the_verdict(fencepost: Any, history: Any, tmp_path: Path) -> None:
    done = fencepost("recheck", "--format", "json", history(superseded("fail")))

    document = json.loads(done.stdout)
    jsonschema.validate(document, schemas.schemas()["verdict"])
    assert (document["verdict"], document["as_expected"]) == ("valid", True)
    assert (document["target"], document["history"]) == ("t", str(tmp_path / "history.jsonl"))
    assert done.stderr.startswith("t  The fence held")


def test_a_commit_log_can_be_added(fencepost: Any, history: Any, tmp_path: Path) -> None:
    lines = [
        {"seq": 1, "resource": "r0", "token": 34, "value": "1-30"},
        {"seq": 2, "resource": "r0", "token": 33, "value": "0-40"},
    ]
    (tmp_path / "order.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert fencepost("recheck", history(superseded("fail")), "--commits", "order.jsonl").returncode == 1


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("nope.edn", "there is no file nope.edn, and no folder runs with runs of a target\n"),
        ("/dev/null", "/dev/null is neither a regular file nor a run's folder\n"),
    ],
)
def test_what_is_neither_history_nor_run_is_refused(fencepost: Any, missing: str, message: str) -> None:
    done = fencepost("recheck", missing)

    assert (done.returncode, done.stderr) == (4, message)


def test_another_version_is_refused_with_the_supported_ones(refusal: Any, history: Any) -> None:
    said = refusal("recheck", history([], fencepost=2))

    assert "its version is 2, and this release of Fencepost reads version 1" in said


def test_an_invalid_json_value_is_shown(refusal: Any, history: Any) -> None:
    assert ": NaN, in: " in refusal("recheck", history([event(10, float("nan"), "invoke", "read")]))


def test_a_broken_history_is_refused_with_its_line(refusal: Any, history: Any) -> None:
    said = refusal("recheck", history([event(10, 0, "ok", "acquire", owner="0-1", token=3)]))

    assert "history.jsonl:2:" in said
    assert "Traceback" not in said
