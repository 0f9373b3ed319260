"""Edits, drawn by Hypothesis, that turn a valid file into a hostile one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[\w.+:-]+')
_SHORT = (
    b"", b"0", b"-1", b"1", b"-0", b"00", b"1.5", b"1e999", b"-1e999", b"NaN", b"Infinity", b"##NaN", b"##Inf",
    b"null", b"nil", b"true", b"false", b"[]", b"{}", b"()", b"#{}", b'""', b"''", b'[""]', b'["pause"]', b"{a = 1}",
    b'{"":{}}', b"[[]]", b"[null]", b"[1,2,3]", b"9007199254740993", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"18446744073709551616", b"1" * 40, b"0x1f", b"1/0", b"1M", b"2020-01-01T00:00:00Z",
    b'"nemesis"', b'"client:0"', b'"client:99999999999999999999"', b'"client:\xc2\xb2"', b'"stale"', b'"in force"',
    b'"acquire"', b'"renew"', b'"release"', b'"revoke"', b'"write"', b'"read"', b'"append"', b'"fence"', b'"cas"',
    b'"submit"', b'"take"', b'"execute"', b'"heartbeat"',
    b'"invoke"', b'"ok"', b'"fail"', b'"info"', b'"strict"', b'"inclusive"', b":invoke", b":ok", b":info", b":cas",
    b'"\\ud800"', b'"\\u0000"', b'"\\u001b[2J"', b"\\ud800", b"\\newline", b"#inst", b"#a.b{", b"^:x", b";", b"#_",
    b"\xc2\xb2", b"\xd9\xa3", b"\xe2\x80\xae", b"\xe2\x80\x8b", b"\xc2\x9b31m", b"\x1b]0;x\x07", b"\xed\xa0\x80", b"\xff",
    b"\x00", b"\r", b"\n", b"\n\n", b"\t", b"\\", b'"', b"'", b'"""', b"[", b"]", b"{", b"}", b"(", b")", b"[[", b",",
    b":", b"=", b".", b"#", b"</script>", b"<!--", b"{{7*7}}", b"{% raw %}", b"../../etc/passwd", b"/proc/self/mem",
)  # fmt: skip
_LONG = (
    b"[" * 5_000, b"]" * 5_000, b"{" * 5_000, b'{"a":' * 5_000, b"[" * 300 + b"]" * 300, b"(" * 5_000,
    b"#{" * 5_000, b"9" * 5_000, b"-" * 5_000, b"x" * 5_000, b"." * 5_000, b"a." * 3_000, b" " * 5_000, b"\n" * 5_000,
    b'"' + b"x" * 300_000 + b'"', b'"' + b"\xe2\x80\xae" * 20_000 + b'"', b"0" * 5_000, b"1e" + b"9" * 5_000,
    b'"' + b"\\u001b" * 5_000 + b'"', b"[" + b"1," * 50_000 + b"1]", b"\xff" * 5_000, b"#_" * 5_000, b"^" * 5_000,
)  # fmt: skip
_LONG_NUMBERS = st.sampled_from((b"", b"1.", b"1e")).map(lambda begin: begin + b"9" * 1_000_000)
PAYLOADS = st.one_of(
    st.sampled_from(_SHORT), st.sampled_from(_SHORT), st.sampled_from(_LONG), _LONG_NUMBERS, st.binary(max_size=16),
    st.integers().map(lambda number: str(number).encode()),
    st.text(max_size=8).map(lambda text: text.encode(errors="surrogatepass")),
)  # fmt: skip

Kind = Literal["token", "insert", "delete", "cut", "repeat line", "swap lines", "drop line", "repeat all"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change; positions are numbers of tokens, lines or bytes, modulo their count."""

    kind: Kind
    place: int
    other: int
    payload: bytes


_PLACES = st.integers(min_value=0, max_value=100_000)
EDITS = st.lists(
    st.builds(
        Edit,
        kind=st.sampled_from(
            [
                "token",
                "token",
                "token",
                "insert",
                "delete",
                "cut",
                "repeat line",
                "swap lines",
                "drop line",
                "repeat all",
            ]
        ),
        place=_PLACES,
        other=_PLACES,
        payload=PAYLOADS,
    ),
    min_size=1,
    max_size=5,
)


_LONGEST = 1 << 22
"""Bytes; to repeat a long line again and again takes all memory."""


def edited(seed: bytes, edits: Sequence[Edit]) -> bytes:
    """Apply the edits, one after another."""
    for edit in edits:
        seed = _edited(seed, edit)[:_LONGEST]
    return seed


def _edited(text: bytes, edit: Edit) -> bytes:
    start = edit.place % (len(text) + 1)
    match edit.kind:
        case "token":
            tokens = list(_TOKEN.finditer(text))
            if tokens:
                found = tokens[edit.place % len(tokens)]
                return text[: found.start()] + edit.payload + text[found.end() :]
            return edit.payload
        case "insert":
            return text[:start] + edit.payload + text[start:]
        case "delete":
            return text[:start] + text[start + edit.other % 40 :]
        case "cut":
            return text[:start]
        case "repeat all":
            return text * (1 + edit.other % 3)
    return _lines_edited(text, edit)


def _lines_edited(text: bytes, edit: Edit) -> bytes:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    place, other = edit.place % len(lines), edit.other % len(lines)
    match edit.kind:
        case "repeat line":
            lines[place:place] = [lines[place]] * (1 + edit.other % 20)
        case "drop line":
            del lines[place]
        case _:
            lines[place], lines[other] = lines[other], lines[place]
    return b"".join(lines)
