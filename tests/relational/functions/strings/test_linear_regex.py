"""Tests that do not go back: ``re``, row by row, is the oracle for what they say."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.relational.functions.strings.test_plain_regex import TEXTS

from millrace.relational.functions.like import similar_regex
from millrace.relational.functions.regex import compiled, linear_test
from millrace.table import EnvironmentSettings, TableEnvironment

ATOMS = st.sampled_from(["a", "b", "&", "é", r"\.", r"\d", r"\W", r"\s", ".", "[^&]", "[a-c]", r"[\-é]", "[.*]", " "])
TIMES = st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{1,2}?"])
SEQUENCES = st.lists(st.builds(str.__add__, ATOMS, TIMES), max_size=3).map("".join)


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds("{}{}){}".format, st.sampled_from(["(", "(?:"]), inner, TIMES)
    return st.one_of(
        st.builds("{}{}{}".format, inner, group, SEQUENCES),
        st.builds("{}|{}".format, inner, inner),
        st.builds("^{}".format, inner),
    )


PATTERNS = st.builds(str.__add__, st.recursive(SEQUENCES, _grouped, max_leaves=5), st.sampled_from(["", "", "$"]))


@given(PATTERNS, TEXTS, st.booleans())
def test_it_says_what_re_says(pattern: str, texts: list[str | None], whole: bool) -> None:
    regex = compiled(pattern)
    assert regex is not None
    test = linear_test(regex, whole)
    assert test is not None
    search = regex.fullmatch if whole else regex.search
    # With $ before the end of a line, "all of it" means something else: nothing asks for it.
    if whole and pattern.endswith("$"):
        return
    expected = [None if text is None else search(text) is not None for text in texts]
    assert test.matches(pa.array(texts, pa.string())).to_pylist() == expected


SIMILAR = st.lists(st.sampled_from(["a", "b", "%", "_", "(a|b)*", "[a-c]+", "[^&]", "(a+)+", "x{1,2}", ".", "é"]))


@given(SIMILAR.map("".join), TEXTS)
def test_patterns_of_similar_to(pattern: str, texts: list[str | None]) -> None:
    regex = similar_regex(pattern, "")
    test = linear_test(regex, whole=True)
    assert test is not None
    expected = [None if text is None else regex.fullmatch(text) is not None for text in texts]
    assert test.matches(pa.array(texts, pa.string())).to_pylist() == expected


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", "(?i)a", r"\bword", "a++", "(a)++", "(?>a)", r"(a)\1", "a$b", "(a$)+b", "a{2000}", "(?<n>a)", r"\p{L}"],
)
def test_what_goes_row_by_row(pattern: str) -> None:
    regex = compiled(pattern)
    assert regex is not None
    assert linear_test(regex) is None


def test_letters_of_unicode_are_not_those_of_ascii() -> None:
    assert linear_test(re.compile(r"\w+")) is None


@pytest.mark.parametrize(
    "condition",
    ["REGEXP(s, '(a+)+$')", "REGEXP(s, '^(\\w+\\s?)*$')", "s SIMILAR TO '(a+)+'", "s SIMILAR TO '(a|aa)+'"],
)
def test_patterns_that_would_never_end(condition: str) -> None:
    """Forty letters and another one: going back takes 2 to the power of 40 steps."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    text = "a" * 40
    values = f"(VALUES ('{text}!'), ('{text}')) AS t(s)"
    with environment.execute_sql(f"SELECT CHAR_LENGTH(s) FROM {values} WHERE {condition}").collect() as found:
        assert [row[0] for row in found] == [40]
