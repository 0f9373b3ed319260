"""EDN, the notation of Clojure's data: read strictly and safely, and written.

`nil`, booleans, numbers and strings become Python's own, vectors and lists tuples, sets frozensets, maps
dicts (`#:name{…}` gives its keys a namespace); keywords, symbols, characters and tagged literals become
classes of their own. Tags never cause a lookup or run code. Anything that EDN leaves undefined is refused: a
repeated key, a number beyond `atoms.MAX_DIGITS`, a form beyond `MAX_FORM` or nested deeper than `MAX_DEPTH`.

The grammar: https://github.com/edn-format/edn
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from checkers.formats.atoms import Char, Keyword, Symbol, character, named, quoted, string, word
from checkers.formats.collisions import without_collisions

MAX_DEPTH = 64
MAX_FORM = 1 << 20  # characters

_TOKEN = re.compile(  # possessive throughout, so no text makes it backtrack
    r"""
    (?:[ \t\r\n\f,]++ | ;[^\n]*+)*+
    (?: (?P<open>\#?\{ | [\[(] | \#:[A-Za-z0-9.*+!\-_?$%&=<>|'/]++[ \t\r\n\f,]*+\{)
      | (?P<close>[\]})])
      | (?P<string>"(?:[^"\\]++ | \\.)*+")
      | (?P<discard>\#_)
      | (?P<atom>(?:\#\#|[A-Za-z0-9.*+!\-_?$%&=<>|:/'])[A-Za-z0-9.*+!\-_?$%&=<>|:/'\#]*+)
      | (?P<tag>\#[A-Za-z][A-Za-z0-9.*+!\-_?$%&=<>|:/'\#]*+)
      | (?P<char>\\(?:[A-Za-z0-9]++|[^ \t\r\n\f,]))
      | (?P<end>\Z)
      | (?P<illegal>.)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN: dict[str, Callable[[str], Any]] = {
    "atom": word,
    "string": string,
    "char": lambda text: character(text[1:]),
}
_BLANKS = " \t\r\n\f,"
_CLOSES = {"[": "]", "(": ")", "{": "}"}  # by the last character of the opening token


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged literal or a record, such as `#inst "2026-01-01"`; the tag is without its `#`."""

    tag: str
    value: Any


class EdnError(ValueError):
    """The text is not EDN, or beyond a limit."""

    def __init__(self, line: int, problem: str, unfinished: int | None = None) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem
        self.unfinished = unfinished  # the line on which a form begins that the text cuts off


class Form(NamedTuple):
    """One form and the line on which it begins, from 1."""

    line: int
    value: Any


def loads(text: str) -> Any:
    """Read a text that is exactly one form; EdnError if it is not EDN, or not exactly one."""
    forms = list(read(text))
    if len(forms) != 1:
        raise EdnError(1, f"{len(forms)} forms where one was expected")
    return forms[0].value


def read(text: str) -> Iterator[Form]:
    """Yield the forms of a text, one after another.

    Raises:
        EdnError: it is not EDN; the forms before that place have been yielded by then.
    """
    return _Reader(text).forms(_TOKEN.finditer(text))


def is_vector(text: str) -> bool:
    """Does the text begin like a vector or a list?"""
    return next(_TOKEN.finditer(text))["open"] in {"[", "("}


def read_elements(text: str) -> Iterator[Form]:
    """Yield the elements of a text that is one vector or list, each with its own line.

    Raises:
        EdnError: it is not EDN, not a vector, or there is more than the vector.
    """
    tokens = _TOKEN.finditer(text)
    closer = _CLOSES.get((next(tokens)["open"] or "")[-1:])
    if closer not in {"]", ")"}:
        raise EdnError(1, "the text is not a vector")
    return _Reader(text).forms(tokens, closer=closer)


@lru_cache
def is_keyword(name: str) -> bool:
    """Can a keyword have this name? Another tool's JSON may give any text to an operation."""
    try:
        return bool(loads(f":{name}") == Keyword(name))
    except EdnError:
        return False


def dumps(value: Any) -> str:
    """Write a value as EDN; TypeError if EDN has no form for it."""
    match value:
        case None | bool():
            return {None: "nil", True: "true", False: "false"}[value]
        case float() if not math.isfinite(value):
            return "##NaN" if math.isnan(value) else "##Inf" if value > 0 else "##-Inf"
        case float() | int() | Keyword() | Symbol():
            return repr(value)
        case Fraction() | Decimal():
            return f"{value}M" if isinstance(value, Decimal) else str(value)
        case str():
            return quoted(value)
        case Char():
            return named(value)
        case Tagged():
            return f"#{value.tag} {dumps(value.value)}"
    return _dump_collection(value)


def _dump_collection(value: Any) -> str:
    match value:
        case tuple() | list():
            return f"[{' '.join(map(dumps, value))}]"
        case set() | frozenset():
            return f"#{{{' '.join(sorted(map(dumps, value)))}}}"
        case dict():
            return f"{{{', '.join(f'{dumps(key)} {dumps(item)}' for key, item in value.items())}}}"
    raise TypeError(f"EDN has no form for {type(value).__name__}")


def _qualified(items: list[Any], namespace: str) -> list[Any]:
    """Return the items of a map `#:namespace{…}`; keys get it unless they have one (`_` means none)."""
    return [item if place % 2 else _with_namespace(item, namespace) for place, item in enumerate(items)]


def _with_namespace(key: Any, namespace: str) -> Any:
    if not isinstance(key, Keyword | Symbol):
        return key
    if key.name.startswith("_/"):
        return type(key)(key.name[2:])
    return key if "/" in key.name else type(key)(f"{namespace}/{key.name}")


@dataclass(slots=True)
class _Frame:
    """An unfinished form: a collection, or a prefix that waits for its form."""

    kind: str  # [ ( { #{ #:name{ #_ or a tag with its #
    is_prefix: bool
    items: list[Any] = field(default_factory=list)


class _Reader:
    """Builds forms on its own stack, so deep nesting never uses Python's call stack."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._stack: list[_Frame] = []
        self._start = 0  # of the current outermost form
        self._counted = 0  # newlines are counted up to here
        self._line = 1  # the line of that place

    def forms(self, tokens: Iterator[re.Match[str]], closer: str | None = None) -> Iterator[Form]:
        """Yield each outermost form; with a closer, each element of a vector up to it."""
        ended = False
        stack = self._stack
        for token in tokens:
            kind = token.lastgroup or ""
            if kind == "atom" and stack and not stack[-1].is_prefix:
                stack[-1].items.append(self._plain("atom", token))
                continue
            place = token.start(kind)
            if kind == "end":
                break
            if ended:
                raise self._error(place, "there is text after the end of the vector")
            if not stack:
                self._start = place
                if token[kind] == closer:
                    ended = True
                    continue
            if token.end() - self._start > MAX_FORM:
                raise self._error(self._start, f"a form of more than {MAX_FORM} characters")
            done, value = self._take(kind, token, place)
            if done:
                yield Form(self._line_of(self._start), value)
        self._check_end(None if ended else closer)

    def _check_end(self, missing: str | None) -> None:
        if self._stack:
            raise self._error(self._start, "the text ends inside of this form", unfinished=True)
        if missing:
            problem = f"the text ends before the vector's {missing}"
            raise self._error(len(self._text), problem, unfinished=True)

    def _take(self, kind: str, token: re.Match[str], place: int) -> tuple[bool, Any]:
        """Take a token; return whether it completes an outermost form, and the form."""
        stack = self._stack
        text = token[kind]
        if kind in _PLAIN:
            value = self._plain(kind, token)
        elif kind == "close":
            value = self._close(text, place)
        elif kind in {"open", "tag", "discard"}:
            if len(stack) >= MAX_DEPTH:
                raise self._error(place, f"forms are nested deeper than {MAX_DEPTH}")
            stack.append(_Frame(text, kind != "open"))
            return False, None
        else:
            raise self._illegal(place)
        while stack and stack[-1].is_prefix:
            prefix = stack.pop().kind
            if prefix == "#_":
                return False, None
            value = Tagged(prefix[1:], value)
        if not stack:
            return True, value
        stack[-1].items.append(value)
        return False, None

    def _plain(self, kind: str, token: re.Match[str]) -> Any:
        try:
            return _PLAIN[kind](token[kind])
        except ValueError as error:
            raise self._error(token.start(kind), str(error)) from None

    def _close(self, text: str, place: int) -> Any:
        if not self._stack or _CLOSES.get(self._stack[-1].kind[-1]) != text:
            raise self._error(place, f"{text!r} closes nothing that is open")
        frame = self._stack.pop()
        match frame.kind:
            case "{":
                return self._map(frame.items, place)
            case "#{":
                self._check_different(
                    frame.items, place, "a set with a map in it", "a set with a repeated element"
                )
                return frozenset(frame.items)
            case kind if kind.startswith("#:"):
                return self._map(_qualified(frame.items, kind[2:-1].rstrip(_BLANKS)), place)
        return tuple(frame.items)

    def _map(self, items: list[Any], place: int) -> dict[Any, Any]:
        if len(items) % 2:
            raise self._error(place, "a map with a key that has no value")
        keys = items[::2]
        self._check_different(keys, place, "a map with a map among its keys", "a map with a repeated key")
        return dict(zip(keys, items[1::2], strict=True))

    def _check_different(self, items: list[Any], place: int, has_map: str, repeats: str) -> None:
        try:
            are_different = len(set(without_collisions(items))) == len(items)
        except TypeError:
            raise self._error(place, has_map) from None
        except ValueError as error:
            raise self._error(place, str(error)) from None
        if not are_different:
            raise self._error(place, repeats)

    def _illegal(self, place: int) -> EdnError:
        character = self._text[place]
        if character == '"':
            return self._error(place, "a string that does not end", unfinished=True)
        is_cut = place == len(self._text) - 1 and character in {"\\", "#"}
        return self._error(place, f"{character!r} begins no form", unfinished=is_cut)

    def _error(self, place: int, problem: str, *, unfinished: bool = False) -> EdnError:
        begun = self._line_of(self._start) if unfinished else None
        return EdnError(self._line_of(place), problem, begun)

    def _line_of(self, place: int) -> int:
        if place < self._counted:
            return self._line - self._text.count("\n", place, self._counted)
        self._line += self._text.count("\n", self._counted, place)
        self._counted = place
        return self._line
