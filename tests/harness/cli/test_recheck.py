"""`fencepost recheck` of history files."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cli import schemas
from tests.support.short_histories import event, grant, superseded, write


class TestRecheck:
    def test_a_fence_that_held_is_valid(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("fail")))

        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("t  The fence held: 1 of 1 stale write refused\n")

    def test_an_accepted_stale_write_is_a_violation(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("ok")))

        assert done.returncode == 1
        assert done.stdout.startswith("t  BUG: the storage accepted a stale write\n")

    def test_an_expected_stale_write_is_a_success(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("ok"), expect=["stale-write"], fenced=False))

        assert done.returncode == 0
        assert done.stdout.startswith("t  Found as expected: the storage accepted a stale write\n")
        assert "\n    1. " not in done.stdout

    def test_all_that_a_verdict_rests_on_is_printed_on_request(self, fencepost: Any, history: Any) -> None:
        recorded = history(superseded("ok"), expect=["stale-write"], fenced=False)

        for option in ("-v", "--verbose"):
            done = fencepost("recheck", option, recorded)

            assert "\n    1. " in done.stdout
            assert "\n  Verdict: invalid, as this target expects\n" in done.stdout
            assert "stale writes accepted 1" in done.stdout
            assert re.search(r"\n  double-belief +valid +observed +\d+\.\d{3} s\n", done.stdout)

    def test_an_expected_anomaly_that_is_not_found_is_a_failure(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history(superseded("fail"), expect=["stale-write"]))

        assert done.returncode == 1
        assert "this target expects stale-write, but this run did not find it" in done.stdout

    def test_a_history_without_a_challenge_is_unknown(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([*grant(10, 0, 33), *write(20, 0, 33, "ok")]))

        assert done.returncode == 2
        assert done.stdout.startswith("t  Not tested: ")

    def test_json_output_is_only_the_verdict(self, fencepost: Any, history: Any, tmp_path: Path) -> None:
        done = fencepost("recheck", "--format", "json", history(superseded("fail")))

        document = json.loads(done.stdout)
        jsonschema.validate(document, schemas.schemas()["verdict"])
        assert (document["verdict"], document["as_expected"]) == ("valid", True)
        assert (document["target"], document["history"]) == ("t", str(tmp_path / "history.jsonl"))
        assert done.stderr.startswith("t  The fence held")

    def test_a_commit_log_can_be_added(self, fencepost: Any, history: Any, tmp_path: Path) -> None:
        lines = [
            {"seq": 1, "resource": "r0", "token": 34, "value": "1-30"},
            {"seq": 2, "resource": "r0", "token": 33, "value": "0-40"},
        ]
        (tmp_path / "order.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

        done = fencepost("recheck", history(superseded("fail")), "--commits", "order.jsonl")

        assert done.returncode == 1

    @pytest.mark.parametrize(
        ("missing", "message"),
        [
            ("nope.edn", "there is no file nope.edn, and no folder runs with runs of a target\n"),
            ("/dev/null", "/dev/null is neither a regular file nor a run's folder\n"),
        ],
    )
    def test_what_is_neither_history_nor_run_is_refused(
        self, fencepost: Any, missing: str, message: str
    ) -> None:
        done = fencepost("recheck", missing)

        assert (done.returncode, done.stderr) == (4, message)

    def test_another_version_is_refused_with_the_supported_ones(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([], fencepost=2))

        assert done.returncode == 4
        assert "its version is 2, and this release of Fencepost reads version 1" in done.stderr

    def test_an_invalid_json_value_is_shown(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([event(10, float("nan"), "invoke", "read")]))

        assert done.returncode == 4
        assert ": NaN, in: " in done.stderr

    def test_a_broken_history_is_refused_with_its_line(self, fencepost: Any, history: Any) -> None:
        done = fencepost("recheck", history([event(10, 0, "ok", "acquire", owner="0-1", token=3)]))

        assert done.returncode == 4
        assert "history.jsonl:2:" in done.stderr
        assert "Traceback" not in done.stderr
