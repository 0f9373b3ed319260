"""A wrong line of a program is answered with what its author must write."""

from __future__ import annotations

import pytest

from workloads.client import Unknown
from workloads.line_protocol.messages import AcquireResult, convert_fields, parse_line

MEANING = "an integer from 0 to 2^63 - 1, or its digits as a string; null if there is none"


@pytest.mark.parametrize("line", [b"DEBUG acquiring", b"", b"[]", b"7", b"\xff", b'{"id":'])
def test_a_line_that_is_no_object_belongs_on_standard_error(line: bytes) -> None:
    with pytest.raises(Unknown, match=r"this is no JSON object.*write logs and debug output to standard err"):
        parse_line(line)


@pytest.mark.parametrize("token", ["abc", 3.5, -1, True, 2**63])
def test_a_wrong_token_is_answered_with_what_a_token_is(token: object) -> None:
    with pytest.raises(Unknown) as caught:
        convert_fields(AcquireResult, {"token": token, "ttl_ms": 2000})

    assert str(caught.value).endswith(f"`token` must be {MEANING}")


def test_a_missing_token_is_answered_with_what_a_token_is() -> None:
    with pytest.raises(Unknown) as caught:
        convert_fields(AcquireResult, {"ttl_ms": 2000})

    assert str(caught.value).endswith(f"`token` is missing: {MEANING}")


def test_an_id_in_quotes_is_answered_with_what_an_id_is() -> None:
    with pytest.raises(Unknown, match="`id` must be the number of the request that it answers, as an int"):
        parse_line(b'{"id":"2","outcome":"ok"}')
