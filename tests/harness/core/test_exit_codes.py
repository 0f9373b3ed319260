"""The exit code of a verdict, of several, and of an error."""

import pytest

from harness.core.errors import ConfigurationError, EngineUnavailableError, HistoryError
from harness.core.exit_codes import ExitCode, of_error, of_several, of_verdict
from tests.support.verdicts import verdict_of


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
