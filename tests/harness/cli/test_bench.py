"""`fencepost bench`, on the servers of the local engine."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.bench.document import BENCH, BenchDocument
from harness.bench.page import BENCH_PAGE
from tests.support.command import DEADLINE, FENCEPOST, fencepost, refusal
from tests.support.repository import ROOT

ONE = ["bench", "etcd-postgres", "--engine", "local", "--set", "lock.nodes=1"]


def latest(folder: Path) -> Path:
    return folder / "benches" / "etcd-postgres" / "latest"


def required(*settings: str) -> list[str]:
    return [word for each in settings for word in ("--set", f"bench.{each}")]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, local_engine: Any) -> tuple[Path, Any]:  # noqa: ARG001
    """A short bench, of which one requirement is far out of reach and one is met."""
    folder = tmp_path_factory.mktemp("bench")
    words = [*required("acquire_rate=1000000", 'write_p99="60s"'), "--for", "15s", "--format", "json"]
    return folder, fencepost(folder, *ONE, *words)


@pytest.mark.slow
class TestBench:
    def test_it_prints_what_it_wrote(self, done: tuple[Path, Any]) -> None:
        folder, ended = done

        written = (latest(folder) / BENCH).read_bytes()
        assert json.loads(ended.stdout) == json.loads(written)
        found = msgspec.json.decode(written, type=BenchDocument)
        assert {each.fencing for each in found.series if each.operation == "write"} == {
            "none",
            "conditional-update",
            "select-for-update",
            "upsert",
        }
        assert all(each.rate.value for each in found.series)
        assert [each.clients for each in found.rounds] == [1, 8]
        assert "lock etcd: acquire, each followed by a release" in ended.stderr

    def test_each_way_to_write_is_measured_in_each_round(self, done: tuple[Path, Any]) -> None:
        found = msgspec.json.decode((latest(done[0]) / BENCH).read_bytes(), type=BenchDocument)

        for rounds in found.rounds:
            assert rounds.rounds > 0
            names = [(each.fencing, each.logged, each.raises_mark) for each in rounds.writings]
            assert names == [
                ("none", True, False),
                ("none", False, False),
                ("conditional-update", False, False),
                ("select-for-update", False, False),
                ("upsert", False, False),
                ("conditional-update", True, True),
            ]
            locked = next(each for each in rounds.writings if each.fencing == "select-for-update")
            assert locked.median_overhead is not None
            assert locked.median_overhead > 0  # three more round trips

    def test_a_missed_requirement_is_exit_code_1_unless_the_machine_is_noisy(
        self, done: tuple[Path, Any]
    ) -> None:
        folder, ended = done
        found = msgspec.json.decode((latest(folder) / BENCH).read_bytes(), type=BenchDocument)

        answers = {each.name: each.answer for each in found.requirements}
        assert answers.keys() == {"acquire_rate", "write_p99"}
        assert answers["acquire_rate"] in ("missed", "undecided")
        assert ended.returncode == (1 if "missed" in answers.values() else 2), ended.stderr

    def test_its_folder_has_the_page_and_the_document(self, done: tuple[Path, Any]) -> None:
        assert sorted(each.name for each in latest(done[0]).iterdir()) == [
            BENCH_PAGE,
            BENCH,
            "environment.json",
            "logs",
            "target.toml",
        ]

    def test_ctrl_c_keeps_what_was_measured(self, tmp_path: Path, local_engine: Any) -> None:  # noqa: ARG002
        process = subprocess.Popen(
            [*FENCEPOST, *ONE, "--for", "20s"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert any("repetition 2 of 3" in line for line in process.stdout)

        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=DEADLINE)

        assert process.returncode == 130, errors
        found = msgspec.json.decode((latest(tmp_path) / BENCH).read_bytes(), type=BenchDocument)
        assert found.interrupted
        assert found.series
        assert "bench folder" in said


def test_a_wrong_key_is_one_sentence(tmp_path: Path) -> None:
    said = refusal(tmp_path, "bench", "redis-postgres", *required('aquire_p99="5ms"'))

    assert said.splitlines() == [
        '--set bench.aquire_p99="5ms": bench.aquire_p99 = "5ms": unknown key in [bench]; did you mean acquire_p99?'
    ]


def test_no_fence_adds_nothing(tmp_path: Path) -> None:
    said = refusal(tmp_path, "bench", "redis-postgres-unfenced", *required('fence_overhead="1ms"'))

    assert 'bench.fence_overhead: storage.fencing is "none", which adds nothing' in said


def test_a_fence_that_is_not_compared_has_no_overhead(tmp_path: Path) -> None:
    target = ROOT / "examples" / "own-class" / "files.toml"
    said = refusal(tmp_path, "bench", target, *required('fence_overhead="1ms"'))

    assert 'bench.fence_overhead: storage.fencing "compare under flock" is not compared' in said


@pytest.mark.parametrize("rate", ["nan", "inf", "1.5"])
def test_the_highest_rate_is_a_whole_number(tmp_path: Path, rate: str) -> None:
    said = refusal(tmp_path, "bench", "redis-postgres", "--max-rate", rate)

    assert f"Invalid value for '--max-rate': '{rate}' is not a valid integer" in said


def test_a_program_is_not_timed(tmp_path: Path) -> None:
    target = ROOT / "examples" / "python-client" / "fenced.toml"

    assert "[client] is a program, which bench cannot drive" in refusal(tmp_path, "bench", target)
