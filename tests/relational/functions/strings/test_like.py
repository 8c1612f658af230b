"""LIKE and SIMILAR TO."""

from __future__ import annotations

import functools
import sqlite3

from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, FLINK, SOURCE, STANDARD, Example, null

from millrace.relational import types as t
from millrace.relational.functions.like import like_regex

EXAMPLES = [
    Example("LIKE", ["hello", "he%"], True, DOCS, constant=(1,)),
    Example("LIKE", ["hello", "%lo"], True, DOCS, constant=(1,)),
    Example("LIKE", ["hello", "%ell%"], True, DOCS, constant=(1,)),
    Example("LIKE", ["hello", "h_llo"], True, DOCS, constant=(1,)),
    Example("LIKE", ["hello", "h%l_"], True, DOCS),
    Example("LIKE", ["hello", "hell"], False, DOCS, constant=(1,)),
    Example("LIKE", ["Hello", "hello"], False, DOCS),
    Example("LIKE", ["a\nb", "a_b"], True, STANDARD, constant=(1,)),
    Example("LIKE", ["a.b", "a_b"], True, STANDARD),
    Example("LIKE", ["axb", "a.b"], False, STANDARD, constant=(1,)),
    Example("LIKE", ["a\\xb", "a\\%b"], True, SOURCE, constant=(1,)),
    Example("LIKE", ["a%", "a\\%"], False, SOURCE),
    Example("LIKE", ["axb", "a\\%b"], False, SOURCE),
    Example("LIKE", ["a\\b", "a\\\\b"], False, SOURCE, constant=(1,)),
    Example("LIKE", ["a\\b", "a\\b"], True, SOURCE, constant=(1,)),
    Example("LIKE", ["a\\b", "a\\b", "!"], True, STANDARD, constant=(1, 2)),
    Example("LIKE", ["", "%"], True, STANDARD, constant=(1,)),
    Example("LIKE", ["100%", "100!%", "!"], True, STANDARD, constant=(1, 2)),
    Example("LIKE", ["1000", "100!%", "!"], False, STANDARD),
    Example("LIKE", ["a!", "a!!", "!"], True, STANDARD),
    Example("LIKE", ["a", "!a", "!"], source=STANDARD, raises="stands before nothing to escape"),
    Example("LIKE", ["a", "a", "!!"], source=STANDARD, raises="ESCAPE takes one character, not '!!'"),
    Example("LIKE", ["a", null(t.string())], None, DOCS),
    Example("SIMILAR TO", ["abc", "a(b|x)c"], True, DOCS),
    Example("SIMILAR TO", ["abc", "a%"], True, STANDARD),
    Example("SIMILAR TO", ["abc", "b"], False, STANDARD),
    Example("SIMILAR TO", ["aaa", "a{3}"], True, STANDARD),
    Example("SIMILAR TO", ["a.c", "a.c"], True, STANDARD),
    Example("SIMILAR TO", ["abc", "a.c"], True, FLINK),
    Example("SIMILAR TO", ["b7", "[a-c][[:DIGIT:]]"], True, STANDARD),
    Example("SIMILAR TO", ["d7", "[^a-c]_"], True, STANDARD),
    Example("SIMILAR TO", ["a|b", "a!|b", "!"], True, STANDARD),
    Example("SIMILAR TO", ["a", "a("], source=SOURCE, raises="'a(' is no pattern for SIMILAR TO"),
    Example("SIMILAR TO", ["a", "[a"], source=SOURCE, raises="has a [ without ]"),
    Example("SIMILAR TO", ["a", "[[:X:]]"], source=SOURCE, raises="SIMILAR TO knows no [:X:]"),
]


@corpus("example", EXAMPLES, 35)
def test_example(example: Example) -> None:
    example.check()


@given(st.text("ab%_", max_size=5), st.text("ab%_", max_size=5))
def test_like_is_that_of_sqlite(text: str, pattern: str) -> None:
    with sqlite3.connect(":memory:") as database:
        (wanted,) = database.execute("SELECT ? LIKE ?", (text, pattern)).fetchone()
    Example("LIKE", [text, pattern], bool(wanted)).check()


@given(st.text("ab_%", max_size=9), st.text("ab\n", max_size=12))
def test_like_by_its_definition(pattern: str, text: str) -> None:
    """Against all ways in which the pattern can be read."""

    @functools.cache
    def matches(at: int, place: int) -> bool:
        if place == len(pattern):
            return at == len(text)
        if pattern[place] == "%":
            return matches(at, place + 1) or (at < len(text) and matches(at + 1, place))
        return at < len(text) and pattern[place] in ("_", text[at]) and matches(at + 1, place + 1)

    assert (like_regex(pattern, "").fullmatch(text) is not None) == matches(0, 0)


def test_like_takes_the_time_of_the_text() -> None:
    """Not that of the text to the power of the pattern's parts, which would be years here."""
    assert like_regex("%a%a%a%a%a%a_%b", "").fullmatch("a" * 100_000) is None
