"""The corpus: what is stored of a run, and that every change of a verdict is named."""

import json
import lzma
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from checkers.text.errors import HistoryError
from harness.campaign import corpus
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from tests.support import shards
from tests.support.campaign_runs import job
from tests.support.command import fencepost, refusal
from tests.support.recorded_runs import Unpack


def entry(unpack: Unpack, tmp_path: Path, name: str) -> Path:
    return corpus.add(unpack(name), tmp_path / "corpus")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of some operations, with a stale write."""
    shards.write_run(tmp_path / "run", job(), shards.STALE, expect=["stale-write"])
    return tmp_path / "run"


def expect(of: Path, **changes: Any) -> None:
    """Let an entry expect something else."""
    file = of / corpus.EXPECTED
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_an_entry_holds_the_proof_in_a_few_kilobytes(recorded_run: Unpack, tmp_path: Path) -> None:
    added = entry(recorded_run, tmp_path, "etcd-postgres-unfenced")

    expected = corpus.read_expected(added)
    history = lzma.decompress((added / "history.jsonl.xz").read_bytes()).splitlines()
    assert (expected.verdict, expected.as_expected, expected.minimal) == ("invalid", True, True)
    assert expected.anomalies == {"stale-write": 1}
    assert len(history) < 12
    assert added.name == f"etcd-postgres-unfenced-{expected.fingerprint}"
    assert sum(file.stat().st_size for file in added.iterdir()) < 6_000
    assert len(str(expected.plan)) == 12
    assert {file.name for file in added.iterdir()} == {
        "expected.json",
        *(f"{name}.xz" for name in ("history.jsonl", "commits.jsonl", "plan.json", "target.toml")),
    }


@pytest.mark.parametrize("target", ["/victim", "../victim", "a/b", ".ssh", "a\nb", ""])
def test_a_target_that_is_no_name_makes_no_entry(run: Path, tmp_path: Path, target: str) -> None:
    header, rest = (run / "history.jsonl").read_text().split("\n", 1)
    changed = json.dumps(json.loads(header) | {"target": target})
    (run / "history.jsonl").write_text(f"{changed}\n{rest}")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(ConfigurationError, match=r"history\.jsonl: .* cannot be the name of a file"):
        corpus.add(run, tmp_path / "corpus")

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minimal.toml", "minimal-plan.json", "plan.json", "target.toml"])
@pytest.mark.parametrize("leads_to", ["secret", "pipe", "/dev/zero"])
def test_no_link_of_received_runs_enters_corpora(run: Path, tmp_path: Path, name: str, leads_to: str) -> None:
    (tmp_path / "secret").write_text("my private key")
    os.mkfifo(tmp_path / "pipe")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(tmp_path / leads_to)

    with pytest.raises(HistoryError, match=f"{re.escape(name)}: this is a symbolic link"):
        corpus.add(run, tmp_path / "corpus")

    assert not (tmp_path / "corpus").exists()


def test_a_pipe_in_a_received_run_does_not_hang(run: Path, tmp_path: Path) -> None:
    os.mkfifo(run / "minimal.toml")

    with pytest.raises(HistoryError, match=r"minimal\.toml: this is a pipe"):
        corpus.add(run, tmp_path / "corpus")


def test_an_entry_has_the_smallest_target_of_a_shrunk_run(run: Path, tmp_path: Path) -> None:
    for name in ("minimal.toml", "minimal-plan.json"):
        (run / name).write_text(name)

    added = corpus.add(run, tmp_path / "corpus")

    for name in ("minimal.toml", "minimal-plan.json"):
        assert lzma.decompress((added / f"{name}.xz").read_bytes()) == name.encode()


def test_a_valid_run_is_kept_whole(recorded_run: Unpack, tmp_path: Path) -> None:
    added = entry(recorded_run, tmp_path, "etcd-postgres")

    expected = corpus.read_expected(added)
    stored = lzma.decompress((added / "history.jsonl.xz").read_bytes())
    assert (expected.verdict, expected.minimal, expected.anomalies) == ("valid", False, {})
    assert stored == next(tmp_path.glob("etcd-postgres/*/history.jsonl")).read_bytes()


@pytest.mark.parametrize(
    "name", ["check-then-write", "fence-counter-deleted", "asynchronous-commit", "etcd-postgres-append"]
)
def test_a_stored_run_gets_the_same_verdict_again(recorded_run: Unpack, tmp_path: Path, name: str) -> None:
    added = entry(recorded_run, tmp_path, name)

    assert list(corpus.check(tmp_path / "corpus")) == [corpus.Checked(path=added)]


def test_a_changed_verdict_is_named(run: Path, tmp_path: Path) -> None:
    added = corpus.add(run, tmp_path / "corpus")
    expect(added, verdict="valid", as_expected=False, anomalies={})

    (checked,) = corpus.check(tmp_path / "corpus")

    assert checked.change == (
        "verdict invalid, was valid, as expected True, was False, violations stale-write ×1, was none"
    )


def test_an_unknown_verdict_is_not_kept(recorded_run: Unpack, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="its verdict is unknown: not tested"):
        entry(recorded_run, tmp_path, "not-exercised")


def test_an_entry_is_not_replaced(run: Path, tmp_path: Path) -> None:
    corpus.add(run, tmp_path / "corpus")

    with pytest.raises(ConfigurationError, match="already exists"):
        corpus.add(run, tmp_path / "corpus")


def test_an_entry_that_cannot_be_judged_stops_no_other(run: Path, tmp_path: Path) -> None:
    good = corpus.add(run, tmp_path / "corpus")
    for name, damaged in (("cut", "history.jsonl.xz"), ("broken", corpus.EXPECTED)):
        shutil.copytree(good, tmp_path / "corpus" / name)
        (tmp_path / "corpus" / name / damaged).write_bytes(b"{")

    found = {checked.path.name: checked.error for checked in corpus.check(tmp_path / "corpus")}

    assert found[good.name] == ""
    assert "history.jsonl.xz: cannot be decompressed" in found["cut"]
    assert "expected.json" in found["broken"]


def test_a_file_without_end_is_refused(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.add(run, tmp_path / "corpus")
    monkeypatch.setattr(corpus, "_MOST_JUDGED", 100)

    (checked,) = corpus.check(tmp_path / "corpus")

    assert "too long: at most 100 bytes are read" in checked.error


def test_the_seeds_of_a_target_are_those_of_its_entries(run: Path, tmp_path: Path) -> None:
    added = corpus.add(run, tmp_path / "corpus")

    assert corpus.seeds(tmp_path / "corpus") == {"a": (corpus.read_expected(added).seed,)}


def test_the_command_adds_and_checks(run: Path, tmp_path: Path) -> None:
    added = fencepost(tmp_path, "corpus", "add", run)
    same = fencepost(tmp_path, "corpus", "check")
    expect(next((tmp_path / "corpus").iterdir()), verdict="valid")
    changed = fencepost(tmp_path, "corpus", "check")

    assert added.returncode == same.returncode == ExitCode.AS_EXPECTED, added.stderr + same.stderr
    assert "the proof of its first finding" in added.stdout
    assert same.stdout == "1 of 1 verdicts are unchanged\n"
    assert changed.returncode == ExitCode.VIOLATION
    assert "verdict invalid, was valid" in changed.stdout


def test_an_empty_corpus_checks_nothing(tmp_path: Path) -> None:
    done = fencepost(tmp_path, "corpus", "check", "none")

    assert done.returncode == ExitCode.NOTHING_SELECTED
    assert "none has no entries" in done.stderr


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("nothing", "there is no file nothing, and no folder runs with runs of a target"),
        (".", "is not a run folder: it has no history.jsonl"),
    ],
)
def test_what_is_no_run_cannot_be_added(tmp_path: Path, word: str, why: str) -> None:
    assert why in refusal(tmp_path, "corpus", "add", word)


def test_a_corpus_that_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="file: cannot hold a corpus: Not a directory"):
        corpus.add(run, tmp_path / "file")
