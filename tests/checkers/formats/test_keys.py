"""Histories of several objects, whose values are pairs of a key and a value."""

from __future__ import annotations

import pytest

from checkers import formats
from checkers.models.judge import judge_foreign
from checkers.text.errors import HistoryError
from checkers.vocabulary.verdict import Validity
from tests.support.foreign_histories import WriteFile


def history(cas: str) -> str:
    return (
        '{:process 0, :type :invoke, :f :write, :value ["a" 1]}\n'
        '{:process 0, :type :ok, :f :write, :value ["a" 1]}\n'
        f"{{:process 1, :type :invoke, :f :cas, :value {cas}}}\n"
        f"{{:process 1, :type :ok, :f :cas, :value {cas}}}\n"
        '{:process 0, :type :invoke, :f :read, :value ["a" nil]}\n'
        '{:process 0, :type :ok, :f :read, :value ["a" 2]}\n'
        '{:process 2, :type :invoke, :f :read, :value ["b" nil]}\n'
        '{:process 2, :type :ok, :f :read, :value ["b" nil]}\n'
    )


@pytest.mark.parametrize("cas", ['["a" [1 2]]', '["a" 1 2]'])
def test_a_cas_has_its_key_before_the_pair_or_in_one_vector(file: WriteFile, cas: str) -> None:
    verdict, notices = judge_foreign(file(history(cas)), "cas-register")

    assert verdict.validity is Validity.VALID
    assert notices[0].endswith("every value is a pair [key value]; the 2 keys are judged one by one")


@pytest.mark.parametrize("cas", ['["a" [3 2]]', '["a" 3 2]'])
def test_a_keyed_cas_that_expected_another_value_is_wrong(file: WriteFile, cas: str) -> None:
    (finding,) = judge_foreign(file(history(cas)), "cas-register").verdict.findings

    assert finding.resource == "a"


@pytest.mark.parametrize("cas", ["[nil 1 2]", '["a" 1 2 3]', '["a"]', "7"])
def test_a_cas_of_another_form_is_refused_with_the_forms_that_are_read(file: WriteFile, cas: str) -> None:
    refused = formats.read(file(history(cas)))

    with pytest.raises(HistoryError, match=r":3: the value of a cas is \[expected new\], or \[key \[expec"):
        formats.operations(refused, "cas-register")


def test_an_answer_about_another_key_is_refused_in_the_words_of_the_file(file: WriteFile) -> None:
    wrong = history('["a" 1 2]').replace('["a" 2]', '["b" true]')

    with pytest.raises(HistoryError, match=r':6: \["b" true\] is the answer to a request for the key "a"$'):
        formats.read(file(wrong))
