"""A value whose write failed, and that a client saw all the same."""

from __future__ import annotations

import pytest

from checkers.models.judge import judge_foreign
from tests.support.foreign_histories import WriteFile


def events(*lines: str) -> str:
    return "".join(f"{{:process {line}}}\n" for line in lines)


FAILED = {
    "register": events(
        "1, :type :invoke, :f :write, :value 638",
        "1, :type :fail, :f :write, :value 638, :error :timeout",
        "2, :type :invoke, :f :read",
        "2, :type :ok, :f :read, :value 638",
    ),
    "cas-register": events(
        "1, :type :invoke, :f :cas, :value [nil 638]",
        "1, :type :fail, :f :cas, :value [nil 638], :error :timeout",
        "2, :type :invoke, :f :cas, :value [638 2]",
        "2, :type :ok, :f :cas, :value [638 2]",
    ),
    "kv": events(
        '1, :type :invoke, :f :put, :key "x", :value "638"',
        '1, :type :fail, :f :put, :key "x", :value "638"',
        '2, :type :invoke, :f :get, :key "x"',
        '2, :type :ok, :f :get, :key "x", :value "638"',
    ),
    "set": events(
        "1, :type :invoke, :f :add, :value 638",
        "1, :type :fail, :f :add, :value 638",
        "2, :type :invoke, :f :read",
        "2, :type :ok, :f :read, :value #{638}",
    ),
}
REPEATED = events(
    "0, :type :invoke, :f :write, :value 1",
    "0, :type :ok, :f :write, :value 1",
    "0, :type :invoke, :f :write, :value 1",
    "0, :type :ok, :f :write, :value 1",
)


@pytest.mark.parametrize("model", FAILED)
def test_the_failed_write_of_a_value_that_was_seen_is_named(file: WriteFile, model: str) -> None:
    verdict = judge_foreign(file(FAILED[model]), model).verdict

    (finding,) = verdict.findings
    assert "had failed (line 2)" in finding.summary
    assert any("638" in step and "which failed (line 2)" in step for step in finding.steps)
    assert finding.operations == (3, 4)  # alone they are wrong
    assert not any("--initial" in reason for reason in verdict.reasons)


def test_a_search_names_the_failed_write_too(file: WriteFile) -> None:
    (finding,) = judge_foreign(file(REPEATED + FAILED["register"]), "register").verdict.findings

    assert finding.summary.endswith(": 638, whose write had failed (line 6)")


def test_a_failed_write_of_a_value_that_another_wrote_is_not_named(file: WriteFile) -> None:
    again = events("3, :type :invoke, :f :write, :value 638", "3, :type :ok, :f :write, :value 638")

    (finding,) = judge_foreign(file(FAILED["register"] + again), "register").verdict.findings

    assert "failed" not in finding.summary
