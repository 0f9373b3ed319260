"""The EDN reader: strict, safe, and the inverse of the writer."""

from __future__ import annotations

import contextlib
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.formats import edn
from checkers.formats.atoms import Char, Keyword, Symbol
from checkers.formats.edn import EdnError, Tagged
from checkers.formats.values import frozen, thawed

NAMES = st.from_regex(r"[a-z][a-z0-9.*+!?-]{0,8}(/[a-z]{1,4})?", fullmatch=True).filter(
    lambda name: name not in {"nil", "true", "false"}
)
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.fractions().filter(lambda ratio: ratio.denominator != 1 and len(str(ratio)) < 64),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.builds(Keyword, NAMES),
    st.builds(Symbol, NAMES),
    st.builds(Char, st.sampled_from("aZ0{\n \t")),
)
KEYS = st.one_of(st.text(max_size=4), st.builds(Keyword, NAMES))
FORMS = st.recursive(
    ATOMS,
    lambda forms: st.one_of(
        st.lists(forms, max_size=4).map(tuple),
        st.dictionaries(KEYS, forms, max_size=4),
        st.frozensets(KEYS, max_size=4),
        st.builds(Tagged, NAMES, forms),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(FORMS)
def test_written_lines_are_read_back_unchanged(
    form: tuple[dict[Any, Any], dict[Keyword, Symbol]] | None,
) -> None:
    assert edn.loads(edn.dumps(form)) == form


@given(st.text(alphabet='[](){}#_:"\\ \n,;0a1.-N', max_size=60))
def test_any_text_is_forms_or_an_error(text: str) -> None:
    lines: list[Any] = []
    with contextlib.suppress(EdnError):
        lines.extend(form.line for form in edn.read(text))

    assert lines == sorted(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)


_NAMESPACED = {Symbol("a.b/c"): 1, Keyword("d/e"): 2, Keyword("f"): 3, "g": {Keyword("h/i"): ()}}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("nil", None),
        ("-7", -7),
        ("7N", 7),
        ("1.50M", Decimal("1.50")),
        ("-1.5e3", -1500.0),
        ("-1/2", Fraction(-1, 2)),
        ("4/2", 2),
        ("-0x1F", -31),
        ("017", 15),
        ("2r101", 5),
        ("36rZ", 35),
        ("##-Inf", -math.inf),
        (":a/b", Keyword("a/b")),
        ("(1, 2,,3)", (1, 2, 3)),
        ("{:a 1 ; a comment }\n :b #_ignored 2}", {Keyword("a"): 1, Keyword("b"): 2}),
        ("#{1 2}", frozenset({1, 2})),
        ('#inst "2026-01-01T00:00:00Z"', Tagged("inst", "2026-01-01T00:00:00Z")),
        ("#jepsen.history.Op{:f :read}", Tagged("jepsen.history.Op", {Keyword("f"): Keyword("read")})),
        (r'"tab\t \u00e9 \ud83d\ude00 \101"', "tab\t é 😀 A"),
        ('#object[clojure.core$inc 0x2f "inc"]', Tagged("object", (Symbol("clojure.core$inc"), 47, "inc"))),
        (r"[\a \newline \u0041 \{ \space]", (Char("a"), Char("\n"), Char("A"), Char("{"), Char(" "))),
        ("#_ #_ 1 2 3", 3),
        ("#:a{:b 1}", {Keyword("a/b"): 1}),
        ('#:a.b {c 1, :d/e 2, :_/f 3, "g" #:h{:i ()}}', _NAMESPACED),
    ],
)
def test_reads(text: str, form: Any) -> None:
    assert edn.loads(text) == form


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{:a 1 :a 2}", "a repeated key"),
        ("#{1 1}", "a repeated element"),
        ("{:a}", "a key that has no value"),
        ("{{:a 1} 2}", "a map among its keys"),
        ("[1)", "closes nothing"),
        ("]", "closes nothing"),
        ("08", "is no number"),
        ("1/0", "is no number"),
        ("1/2/3", "is no number"),
        ("1r0", "is no number"),
        ("0r7", "is no number"),
        ("2r12", "is no number"),
        ("37r1", "is no number"),
        ("0x1g", "is no number"),
        ("9" * 65, "a number of 65 characters"),
        ("1E9999999999999999999M", "is no number"),
        ("1E-9999999999999999999M", "is no number"),
        ("##Huge", "no symbolic value"),
        (":", "is no keyword"),
        ("@x", "'@' begins no form"),
        ("\x00", "begins no form"),
        (r'"\q"', "an escape that EDN does not have"),
        (r'"\ud800"', "an escape that EDN does not have"),
        (r"\newlines", "is not a character"),
        ("[" * 65 + "]" * 65, "nested deeper than 64"),
        ("#a " * 65 + "1", "nested deeper than 64"),
        ('"' + "x" * (1 << 20) + '"', "a form of more than"),
        ("", "0 forms"),
        ("1 2", "2 forms"),
        ("#:{:a 1}", "'#' begins no form"),
        ("#::a{:b 1}", "'#' begins no form"),
        ("#:a{:b}", "a key that has no value"),
        ("#:a{:b 1, :a/b 2}", "a repeated key"),
    ],
)
def test_refuses(text: str, problem: str) -> None:
    with pytest.raises(EdnError, match=problem):
        edn.loads(text)


@pytest.mark.parametrize("text", ["[1", "{:a", '"abc', '"abc\\', "#", "#_", "#tag", "\\", "[1 [2]"])
def test_a_text_that_ends_inside_a_form_is_unfinished_from_its_start(text: str) -> None:
    with pytest.raises(EdnError) as caught:
        edn.loads(f"7\n{text}")

    assert caught.value.unfinished == 2


def test_a_string_without_its_end_is_unfinished_from_the_outermost_form_on() -> None:
    with pytest.raises(EdnError) as caught:
        edn.loads('[1\n"abc')

    assert caught.value.unfinished == 1


def test_an_invalid_line_is_not_taken_for_an_unfinished_one() -> None:
    with pytest.raises(EdnError) as caught:
        edn.loads("[1 @")

    assert caught.value.unfinished is None


def test_elements_of_a_vector_have_their_own_lines() -> None:
    assert [form.line for form in edn.read_elements("\n[1\n 2 {:a\n 3}\n\n 4]\n ; done")] == [2, 3, 3, 6]


@pytest.mark.parametrize(
    ("text", "problem"), [("[1] 2", "after the end"), ("[1", "before the vector's"), ("{}", "not a vector")]
)
def test_only_a_single_vector_has_elements(text: str, problem: str) -> None:
    with pytest.raises(EdnError, match=problem):
        list(edn.read_elements(text))


@pytest.mark.slow
@pytest.mark.parametrize("text", [" " * 5_000_000, ";" * 5_000_000, '"' + "\\a" * 2_000_000, "[" * 2_000_000])
def test_a_hostile_text_is_read_quickly(text: str) -> None:
    with pytest.raises(EdnError):
        edn.loads(text)


def test_a_map_is_written_in_the_order_of_its_keys_in_each_process() -> None:
    fields = {Keyword(name): {name: 0, "a": 1} for name in ("uid", "fence", "client", "token", "lock")}

    assert edn.dumps(thawed(frozen(fields))).startswith(
        '{:client {"a" 1, "client" 0}, :fence {"a" 1, "fence" 0}, :lock {"a" 1, "lock" 0}'
    )
