"""Two benches side by side: how they are found, and which figures differ."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.bench.compare import comparison, read
from harness.bench.document import BENCH, BenchDocument
from harness.core.errors import ConfigurationError
from tests.support.bench_documents import bench, interval, rounds, series


def kept(folder: Path, found: BenchDocument) -> Path:
    folder.mkdir(parents=True)
    (folder / BENCH).write_bytes(msgspec.json.encode(found))
    return folder


def shown(first: BenchDocument, second: BenchDocument) -> list[str]:
    """The lines without the space between columns."""
    return [" ".join(line.split()) for line in comparison(first, second).lines()][2:]


def test_a_bench_is_named_by_its_folder_its_file_or_its_target(tmp_path: Path) -> None:
    folder = kept(tmp_path / "benches" / "t" / "20261130T000000-abcdef", bench(series()))
    (folder.parent / "latest").symlink_to(folder.name)

    for word in (f"{folder}", f"{folder / BENCH}", "t"):
        assert read(word, tmp_path / "benches").target == "t"


def test_the_newest_bench_that_ended_is_read(tmp_path: Path) -> None:
    kept(tmp_path / "t" / "20261130T000000-abcdef", bench(series()))
    (tmp_path / "t" / "20261130T000001-abcdef").mkdir()  # it runs
    (tmp_path / "t" / "latest").symlink_to("20261130T000001-abcdef")

    assert read("t", tmp_path).target == "t"


@pytest.mark.parametrize("word", ["nothing", "", "."])
def test_a_word_that_names_no_bench_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(ConfigurationError, match="no bench; name its folder"):
        read(word, tmp_path / "benches")


@pytest.mark.parametrize(
    "change",
    [
        {"series": 3},
        {"series": [{"key": "x"}]},
        {"machine": None},
        {"schema": "one"},
        {"schema": 2},
    ],
)
def test_a_document_that_is_none_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    document = json.loads(msgspec.json.encode(bench(series()))) | change
    (tmp_path / BENCH).write_text(json.dumps(document))

    with pytest.raises(ConfigurationError, match=r"bench\.json: not the document of a bench: "):
        read(f"{tmp_path}", tmp_path)


def test_a_series_without_its_own_latencies_is_refused(tmp_path: Path) -> None:
    document = json.loads(msgspec.json.encode(bench(series())))
    document["series"][0]["latencies"] = {}
    (tmp_path / BENCH).write_text(json.dumps(document))

    with pytest.raises(ConfigurationError, match="no latencies of acquire"):
        read(f"{tmp_path}", tmp_path)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(1101, 1300, "faster"), (1100, 1300, "no difference shown"), (500, 899, "slower")],
)
def test_a_rate_differs_if_the_intervals_do_not_meet(low: float, high: float, said: str) -> None:
    other = bench(series(rate=interval(low, 1000, high)))

    assert shown(bench(series()), other)[:3] == [  # 900 to 1,100
        "operations a second",
        "first second change",
        f"acquire, 8 clients, each its own resource 1,000 1,000 +0% {said}",
    ]


def test_a_percentile_that_is_higher_is_slower() -> None:
    other = bench(series(p99=interval(7, 8, 9)))

    assert shown(bench(series()), other)[3:] == [
        "99th percentile",
        "first second change",
        "acquire, 8 clients, each its own resource 5.00 ms 8.00 ms +60% slower",
    ]


def test_a_fence_that_adds_more_is_dearer() -> None:
    first, second = (bench(rounds=[rounds(value - 0.1, value, value + 0.1)]) for value in (1, 2))

    assert shown(first, second) == [
        "what the fence adds to a write on average, 1 client",
        "first second change",
        "upsert +1.000 ms +2.000 ms +100% dearer",
    ]


@pytest.mark.parametrize("noisy", [{"is_noisy": True}, {}])
def test_noise_is_no_difference(noisy: dict[str, Any]) -> None:
    faster = series(rate=interval(5000, 5000, 5000), is_noisy=not noisy)

    assert comparison(bench(series()), bench(faster, **noisy)).figures[0].answer == "too noisy here"


def test_what_only_one_has_measured_is_left_out() -> None:
    assert comparison(bench(series()), bench()).figures == []


def test_what_else_differs_is_a_warning() -> None:
    other = msgspec.structs.replace(bench(), target="u", engine="local", max_rate=2000.0)

    assert comparison(bench(), bench()).warnings == []
    assert shown(bench(), other) == [
        "different targets: t and u",
        "different engines: docker and local",
        "different --max-rate: none and 2,000",
    ]


def test_a_percentile_that_was_never_reached_has_no_change() -> None:
    other = bench(series(p99=interval(7, None, None)))

    assert shown(bench(series()), other)[-1].endswith("5.00 ms never slower")
