"""Files of JSON lines: bounded, typed, and tolerant only of a half-written last line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from checkers.history.files import opened
from checkers.history.repeated_names import none_repeats_a_name, repeats_a_name
from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.printable import LONGEST, shorten

MAX_LINE = limits.LINE
_BOUND = re.compile(r"Expected `int` ([<>]=) (-?[0-9]+) - at `\$\.(\w+)`")  # msgspec's words
_LONG_VALUE = re.compile(rf"(?<=').{{{LONGEST + 1},}}(?=')", re.DOTALL)
_BATCH = 256  # lines that are decoded together
_SHOWN = 120  # characters of a refused line that its error shows
T = TypeVar("T")


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a file, not decoded yet."""

    file: str
    number: int  # from 1
    text: bytes
    unfinished: bool = False  # the last of its file, without its newline

    def error(self, problem: str) -> HistoryError:
        """Return an error at this line that shows the beginning of the line."""
        shown = self.text[:_SHOWN].decode(errors="replace").rstrip("\r\n")
        more = "…" if len(self.text) > _SHOWN else ""
        return HistoryError(self.file, self.number, f"{problem}, in: {shown}{more}")


def read_lines(path: Path, within: Path | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, which is opened as by `opened`, as `lines_of` does."""
    with opened(path, limits.HISTORY, limits.SPLIT, within) as file:
        yield from lines_of(file, str(path))


def lines_of(file: BinaryIO, name: str, most: int = limits.HISTORY) -> Iterator[bytes]:
    """Yield the lines of an open file; a line over the limit is cut just beyond it.

    Raises:
        HistoryError: it has more than `most` bytes, which a generated file does not report as its size.
    """
    left = most
    while text := file.readline(MAX_LINE + 1):
        left -= len(text)
        if left < 0:
            raise HistoryError(name, 0, f"it has more than {limits.described(most)}; {limits.SPLIT}")
        yield text


def decode(line: Line, decoder: msgspec.json.Decoder[T]) -> T | None:
    """Return the line as its type; None if it is the half-written end of a file that was cut short.

    Raises:
        HistoryError: it is not UTF-8, not JSON, or not of that type.
    """
    try:
        decoded = decoder.decode(line.text if line.text.isascii() else line.text.decode())
        if not repeats_a_name(line.text):
            return decoded
        problem = "a field that occurs twice"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 ({error.reason} at byte {error.start})"
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        said = str(error) if line.text.strip() else "the line is empty"
        shortened = _LONG_VALUE.sub(lambda value: shorten(value[0]), said)  # the place comes after the value
        problem = _out_of_range(said) or shortened + _malformed(line.text, said)
    if line.unfinished and is_cut_short(line.text):
        return None
    raise line.error(problem)


def batches(lines: Iterable[str | bytes], file: str) -> Iterator[list[Line]]:
    """Yield numbered lines in batches, an unfinished last line marked; lines before an error come first.

    Raises:
        HistoryError: a line is over 1 MiB.
    """
    source, texts, first, more = iter(lines), list[str | bytes](), 1, True
    failure: HistoryError | None = None
    while more:
        try:
            texts += islice(source, _BATCH + 1 - len(texts))
            more = len(texts) > _BATCH
        except HistoryError as error:
            failure, more = error, False
        batch = [
            Line(file, number, text.encode(errors="surrogatepass") if isinstance(text, str) else text)
            for number, text in enumerate(texts[:_BATCH], first)
        ]
        texts, first = texts[_BATCH:], first + len(batch)
        for place, line in enumerate(batch):
            if len(line.text) > MAX_LINE:
                failure, more = line.error("the line is over 1 MiB; a line is one JSON event"), False
                del batch[place:]
                break
        if batch and not (more or failure or batch[-1].text.endswith(b"\n")):
            batch[-1] = msgspec.structs.replace(batch[-1], unfinished=True)
        if batch:
            yield batch
    if failure:
        raise failure


def decoded(
    batched: Iterable[Sequence[Line]], decoder: msgspec.json.Decoder[T], careful: Callable[[Line], T | None]
) -> Iterator[tuple[Line, T | None]]:
    """Yield each line with its type: a batch at once if all its lines are sound, else each by `careful`."""
    for batch in batched:
        yield from zip(batch, _decode_together(batch, decoder) or map(careful, batch), strict=True)


def _decode_together(lines: Sequence[Line], decoder: msgspec.json.Decoder[T]) -> list[T] | None:
    texts = [line.text for line in lines]
    text = b"".join(texts)
    # each object has a line of its own: no object contains `}`, a newline and `{`
    if not (text.startswith(b"{") and text.endswith(b"}\n") and text.count(b"}\n{") == len(texts) - 1):
        return None
    if text.splitlines(keepends=True) != texts:
        return None
    try:
        events = decoder.decode_lines(text if text.isascii() else text.decode())
        return events if len(events) == len(texts) and none_repeats_a_name(text) else None
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _out_of_range(problem: str) -> str | None:
    """Return a plain message for a number that is too large or too small."""
    found = _BOUND.fullmatch(problem)
    if not found:
        return None
    too, bound = ("large", "at most") if found[1] == "<=" else ("small", "at least")
    return f"{found[3]} is too {too}: {bound} {found[2]}"


def _malformed(text: bytes, problem: str) -> str:
    """Return the text at which a parser stopped, such as NaN, which is not JSON."""
    where = re.search(r"\(byte ([0-9]+)\)", problem)
    word = where and re.match(rb"[^\s,\]}]{1,20}", text[int(where[1]) :])
    return f": {word[0].decode(errors='replace')}" if word else ""


def half_written(file: str, line: int) -> str:
    """Return the notice about a half-written last line that was dropped."""
    return f"{file}:{line}: the last line is only half written and was left out"


def is_cut_short(text: bytes) -> bool:
    """Is it the valid beginning of a longer document?"""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except (RecursionError, ValueError):
        return False
    return False
