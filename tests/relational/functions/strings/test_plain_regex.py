"""Expressions that Arrow matches a column at a time: what ``re`` finds, row by row, is the oracle."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.relational.functions.regex import compiled, plain_regex

CHARACTERS = ["a", "b", "&", "=", "_", "-", r"\.", r"\d", r"\w", r"\W", r"\\"]
SETS = ["[^&]", "[a-c]", "[^a-b]", "[a&]", r"[\d\-]", "[.*]", "[^=_]"]
ATOMS = st.sampled_from(CHARACTERS + SETS)
QUANTIFIED = st.builds(str.__add__, ATOMS, st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??"]))
SEQUENCES = st.lists(QUANTIFIED, max_size=4).map("".join)


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.builds("{}{})".format, st.sampled_from(["(", "(?:"]), inner)
    return st.one_of(
        st.builds("{}{}{}".format, inner, group, SEQUENCES),
        st.builds("{}|{}".format, inner, inner),
        st.builds("^{}".format, inner),
    )


PATTERNS = st.recursive(SEQUENCES, _grouped, max_leaves=6)
TEXTS = st.lists(st.one_of(st.none(), st.text("abc&=_-.\\1\n é", max_size=12)), max_size=8)


@given(PATTERNS, TEXTS)
def test_it_finds_what_re_finds(pattern: str, texts: list[str | None]) -> None:
    plain, regex = plain_regex(pattern), compiled(pattern)
    if plain is None or regex is None:
        assert pattern == ""
        return
    found = [None if text is None else regex.search(text) for text in texts]
    column = pa.array(texts, pa.string())
    matches = [None if text is None else match is not None for text, match in zip(texts, found, strict=True)]
    assert plain.matches(column).to_pylist() == matches
    for group in plain.certain:
        extracted = [None if match is None else match[group] for match in found]
        assert plain.extract(column, group).to_pylist() == extracted


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a.c",
        "a$",
        r"\s",
        r"\bword",
        "(ab)*",
        "(a)?",
        "(?i)a",
        "(?=a)",
        "(?<name>a)",
        "a*+",
        "a{2}",
        "^*",
        "[a-z&&[^b]]",
        "[b-a]",
        "[]",
        r"\Qa\E",
        r"\p{Alpha}",
        r"(a)\1",
        "(a",
        "a)",
        "*",
    ],
)
def test_what_engines_read_differently_is_left_to_rows(pattern: str) -> None:
    assert plain_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "certain"),
    [
        ("(&|^)channel_id=([^&]*)", {0, 1, 2}),
        ("(a)|(b)", {0}),
        ("((a)|b)(c)", {0, 1, 3}),
        ("(?:(a)|(b))(c)", {0, 3}),
        ("(?:(a))(b)", {0, 1, 2}),
    ],
)
def test_groups_in_each_match(pattern: str, certain: set[int]) -> None:
    plain = plain_regex(pattern)
    assert plain is not None
    assert plain.certain == certain
