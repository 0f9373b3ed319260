"""Words and numbers at the edge: durations, spans, sizes, paths that users name, and exit codes."""

from pathlib import Path

import pytest

from harness.core.duration import NS, Span, format_duration, parse_duration, parse_span
from harness.core.errors import ConfigurationError, EngineUnavailableError, HistoryError
from harness.core.exit_codes import ExitCode, of_error, of_several, of_verdict
from harness.core.paths import is_file, path_of
from harness.core.size import parse_size
from tests.support.verdicts import verdict_of

SECOND = NS["s"]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2s", 2 * SECOND),
        ("1500ms", 1_500_000_000),
        ("2m", 120 * SECOND),
        ("0.5 s", SECOND // 2),
        ("7us", 7_000),
    ],
)
def test_a_duration_is_read_as_nanoseconds(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("wrong", ["2", "", "s", "-1s", "2 ttl", "1e3s", "0s", 2, None, "2 s 3 ms"])
def test_an_invalid_duration_is_refused_with_an_example(wrong: int | str | None) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_duration(wrong)


def test_a_span_counted_in_ttls_follows_the_ttl() -> None:
    assert parse_span("1.5 ttl").resolve(2 * SECOND) == 3 * SECOND
    assert parse_span("3s").resolve(2 * SECOND) == 3 * SECOND
    assert parse_span("2ttl") == Span(ttls=2.0)


@pytest.mark.parametrize("text", ["2s", "1.5s", "20ms", "3us", "7ns", "120s"])
def test_a_duration_is_formatted_for_people(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(
    ("text", "size"), [("0B", 0), ("500MB", 500_000_000), ("1.5 GB", 1_500_000_000), ("2kB", 2000)]
)
def test_a_size_is_a_number_of_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "MB", "-1MB", "1 mb", "1MiB", 500, None])
def test_anything_else_is_refused_with_an_example(text: object) -> None:
    with pytest.raises(ValueError, match='must be a size such as "500MB"'):
        parse_size(text)


def link(place: Path, to: str) -> str:
    place.symlink_to(to)
    return str(place)


@pytest.mark.parametrize("word", ["x" * 300, "x/" * 3_000, "a\0b", "\udcff\ud800"])
def test_an_impossible_path_is_refused_and_is_no_file(word: str) -> None:
    with pytest.raises(ConfigurationError):
        path_of(word)
    assert not is_file(word)


@pytest.mark.parametrize("to", ["x" * 300, "here"])
def test_a_link_to_an_impossible_path_is_refused_and_is_no_file(to: str, tmp_path: Path) -> None:
    here = link(tmp_path / "here", to)

    with pytest.raises(ConfigurationError, match="here: "):
        path_of(here)
    assert not is_file(here)


def test_a_path_may_be_missing_and_a_link_may_lead_to_nothing(tmp_path: Path) -> None:
    assert path_of(str(tmp_path / "new")) == tmp_path / "new"
    assert path_of(link(tmp_path / "here", "nowhere")) == tmp_path / "here"


@pytest.mark.parametrize(
    ("verdict", "as_expected", "interrupted", "code"),
    [
        ("valid", True, False, ExitCode.AS_EXPECTED),
        ("invalid", True, False, ExitCode.AS_EXPECTED),
        ("invalid", False, False, ExitCode.VIOLATION),
        ("valid", False, False, ExitCode.VIOLATION),
        ("unknown", False, False, ExitCode.UNKNOWN),
        ("valid", True, True, ExitCode.INTERRUPTED),
        ("unknown", False, True, ExitCode.INTERRUPTED),
        ("valid", False, True, ExitCode.INTERRUPTED),
        ("invalid", False, True, ExitCode.VIOLATION),
    ],
)
def test_a_verdict_has_its_code(verdict: str, as_expected: bool, interrupted: bool, code: ExitCode) -> None:
    assert (
        of_verdict(verdict_of({"verdict": verdict, "as_expected": as_expected}), interrupted=interrupted)
        is code
    )


def test_a_violation_outranks_everything() -> None:
    everything = set(ExitCode) - {ExitCode.NOTHING_SELECTED, ExitCode.BROKEN_PIPE}

    assert of_several(everything) is ExitCode.VIOLATION
    assert of_several(everything - {ExitCode.VIOLATION}) is ExitCode.INTERRUPTED
    assert of_several([ExitCode.UNKNOWN, ExitCode.INFRASTRUCTURE]) is ExitCode.INFRASTRUCTURE
    assert of_several([ExitCode.AS_EXPECTED, ExitCode.UNKNOWN]) is ExitCode.UNKNOWN
    assert of_several([]) is ExitCode.NOTHING_SELECTED


def test_an_error_is_the_settings_or_the_servers() -> None:
    assert of_error(ConfigurationError("x")) is ExitCode.CONFIGURATION
    assert of_error(HistoryError("f", 1, "x")) is ExitCode.CONFIGURATION
    assert of_error(EngineUnavailableError("x")) is ExitCode.INFRASTRUCTURE
    assert of_error(KeyboardInterrupt()) is ExitCode.INTERRUPTED
