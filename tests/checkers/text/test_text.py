"""Known passwords are hidden in each way in which JSON, Python and URLs write them; repeated things."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checkers.text.nearest import repeated
from checkers.text.redaction import HIDDEN, redacted, redacted_document

PASSWORDS = [
    *("plain-and-simple", 'with "quotes"', "it's o'clock", "C:\\temp\\new", "\\\\\\\\\\\\\\\\", "trailing\\"),
    *(
        "schlüssel-für-größe",
        "pass😀word",
        "a/b?c=d&e",
        "100% + 7 <x>",
        "tab\tand\nline",
        "both ' and \"",
        "a/b",
    ),
]


def lower(text: str) -> str:
    """Percent-encoding with small letters, without the letters around it."""
    return "".join(f"%{byte:02x}" for byte in text.encode())


WRITINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": json.dumps,
    "JSON in Unicode": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON with \\/": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON of HTML-safe writers": lambda text: (
        json.dumps(text).replace("<", "\\u003C").replace("&", "\\u0026")
    ),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "repr": repr,
    "ascii": ascii,
    "repr of bytes": lambda text: repr(text.encode()),
    "repr in JSON": lambda text: json.dumps(repr(text)),
    "URL": lambda text: quote(text, safe=""),
    "path of a URL": quote,
    "form": quote_plus,
    "URL in JSON": lambda text: json.dumps(quote(text, safe="")),
}


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("password", PASSWORDS)
def test_a_known_password_is_hidden_however_it_is_written(password: str, writing: str) -> None:
    text = f"login {WRITINGS[writing](password)} failed"

    hidden = redacted(text, [password])

    assert hidden.startswith("login ")
    assert hidden.endswith(" failed")
    assert hidden.strip("'\"b\\").count(HIDDEN) == 1
    assert len(hidden) <= len(f"login {HIDDEN} failed") + 20  # quotes of the writing


def test_percent_encoding_may_have_small_letters() -> None:
    assert redacted("x schl%c3%bcssel%2f1 y", ["schlüssel/1"]) == f"x {HIDDEN} y"


@given(st.text(st.characters(), min_size=6), st.sampled_from(sorted(WRITINGS)))
def test_no_writing_of_any_password_survives(password: str, writing: str) -> None:
    try:
        written = WRITINGS[writing](password)
    except UnicodeEncodeError:  # half of a surrogate pair has no bytes
        assume(False)

    assert password not in redacted(f"<{written}>", [password])
    assert HIDDEN in redacted(f"<{written}>", [password])


def test_what_is_near_a_password_is_kept() -> None:
    assert redacted('say "swordfisx" and swordfish_', ["swordfish/"]) == 'say "swordfisx" and swordfish_'


def test_a_short_password_is_hidden_as_a_word_alone() -> None:
    assert redacted("a%2Fb xa/bx", ["a/b"]) == f"{HIDDEN} xa/bx"


def test_texts_in_a_document_are_searched_too() -> None:
    document = {"error": json.dumps({"login": 'se"cret'})}

    assert redacted_document(document, ['se"cret']) == {"error": f'{{"login": "{HIDDEN}"}}'}


@pytest.mark.timeout(60)
def test_a_long_text_of_backslashes_takes_no_time() -> None:
    password = "\\" * 40 + '"' * 40

    assert HIDDEN not in redacted("\\" * 100_000, [password, '""""""', "x\\"])


MANY = 1_000


class Name(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str(self) == str(other)

    __hash__ = str.__hash__


def test_each_that_is_repeated_is_named_once_in_order() -> None:
    assert repeated(["b", "a", "c", "a", "b", "a"]) == ("b", "a")


def test_many_names_are_not_each_compared_with_all_others() -> None:
    names = [Name(number) for number in [*range(MANY), MANY - 1]]
    Name.compared = 0

    assert repeated(names) == (str(MANY - 1),)
    assert Name.compared < 2 * MANY
