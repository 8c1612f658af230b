"""Text: length, case, parts, joining."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, PYTHON, SOURCE, Example, null, of

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings, call
from millrace.relational.functions.strings import split_index
from millrace.relational.rex import Literal, Ref

INT, BIG, STRING = t.IntType(), t.BigIntType(), t.string()
NO_TEXT, NO_INT = null(STRING), null(INT)

EXAMPLES = [
    Example("||", ["a", "bc"], of(STRING, "abc"), DOCS),
    Example("||", [of(t.CharType(2), "a "), of(t.CharType(1), "b")], of(t.CharType(3), "a b"), SOURCE),
    Example("||", [of(t.VarCharType(2), "a"), of(t.CharType(1), "b")], of(t.VarCharType(3), "ab"), SOURCE),
    Example("||", [b"\x01", b"\x02"], b"\x01\x02", SOURCE),
    Example("||", ["a", NO_TEXT], None, DOCS),
    Example("CONCAT", ["AA", "BB", "CC"], "AABBCC", DOCS),
    Example("CONCAT", ["AA"], "AA", DOCS),
    Example("CONCAT", ["AA", NO_TEXT], None, DOCS),
    Example("CONCAT_WS", ["~", "AA", NO_TEXT, "BB", "", "CC"], "AA~BB~~CC", DOCS, strict=False),
    Example("CONCAT_WS", [NO_TEXT, "AA"], None, DOCS, strict=False),
    Example("CONCAT_WS", ["~", NO_TEXT, NO_TEXT], "", DOCS, strict=False),
    Example("CHAR_LENGTH", ["hello"], of(INT, 5), DOCS),
    Example("CHARACTER_LENGTH", [""], 0, DOCS),
    Example("CHAR_LENGTH", ["héllo✓"], 6, SOURCE),
    Example("CHAR_LENGTH", ["😀"], 1, SOURCE),
    Example("UPPER", ["abc"], "ABC", DOCS),
    Example("UPPER", ["straße é"], "STRASSE É", JAVA),
    Example("UPPER", [NO_TEXT], None, DOCS),
    Example("LOWER", ["ABC"], "abc", DOCS),
    Example("LOWER", ["ÀB"], "àb", JAVA),
    Example("LOWER", [""], "", DOCS),
    Example("INITCAP", ["hello WORLD"], "Hello World", DOCS),
    Example("INITCAP", ["a1b c-d"], "A1b C-D", SOURCE),
    Example("INITCAP", ["élan vital"], "éLan Vital", SOURCE),
    Example("REVERSE", ["abc"], "cba", DOCS),
    Example("REVERSE", ["a😀"], "😀a", SOURCE),
    Example("REVERSE", [""], "", DOCS),
    Example("REPEAT", ["This is a test String.", 2], "This is a test String.This is a test String.", DOCS),
    Example("REPEAT", ["ab", 0], "", SOURCE),
    Example("REPEAT", ["ab", -1], "", SOURCE),
    Example("REPLACE", ["hello world", "world", "flink"], "hello flink", DOCS),
    Example("REPLACE", ["ababab", "abab", "z"], "zab", DOCS, constant=(1, 2)),
    Example("REPLACE", ["ab", "", "-"], "-a-b-", JAVA),
    Example("SUBSTRING", ["hello", 2], "ello", DOCS, constant=(1,)),
    Example("SUBSTRING", ["hello", 2, 3], "ell", DOCS, constant=(1, 2)),
    Example("SUBSTR", ["hello", -3], "llo", SOURCE),
    Example("SUBSTR", ["hello", -3, 2], "ll", SOURCE),
    Example("SUBSTRING", ["hello", 0, 2], "he", SOURCE, constant=(1, 2)),
    Example("SUBSTRING", ["hello", -9, 5], "", SOURCE),
    Example("SUBSTRING", ["hello", 9], "", SOURCE, constant=(1,)),
    Example("SUBSTRING", ["hello", 2, 99], "ello", SOURCE, constant=(1, 2)),
    Example("SUBSTRING", ["hello", 2, -1], None, SOURCE),
    Example("SUBSTRING", ["a😀b", 2, 1], "😀", SOURCE, constant=(1, 2)),
    Example("LEFT", ["hello", 2], "he", DOCS),
    Example("LEFT", ["hello", -2], "", DOCS),
    Example("LEFT", ["hello", NO_INT], None, DOCS),
    Example("RIGHT", ["hello", 2], "lo", DOCS),
    Example("RIGHT", ["hello", 0], "", DOCS),
    Example("RIGHT", ["hello", 9], "hello", DOCS),
    Example("OVERLAY", ["xxxxxtest", "xxxx", 6], "xxxxxxxxx", DOCS),
    Example("OVERLAY", ["xxxxxtest", "xxxx", 6, 2], "xxxxxxxxxst", DOCS),
    Example("OVERLAY", ["abc", "X", 9], "abc", SOURCE),
    Example("OVERLAY", ["abcdef", "X", 2, 0], "aX", SOURCE),
    Example("SPLIT_INDEX", ["a,b,c", ",", 1], "b", DOCS),
    Example("SPLIT_INDEX", ["a,,c", ",", 1], "", SOURCE),
    Example("SPLIT_INDEX", ["a,b", ",", 5], None, SOURCE),
    Example("SPLIT_INDEX", ["a,b", ",", -1], None, DOCS),
    Example("SPLIT_INDEX", ["AQIDBA==", "I", 1], "DBA==", SOURCE),
    Example("SPLIT_INDEX", ["a b", "", 1], "b", SOURCE),
    Example("SPLIT_INDEX", ["a;b", 59, 1], "b", SOURCE),
    Example("ELT", [1, "a", "b"], "a", DOCS, strict=False),
    Example("ELT", [of(BIG, 2), "a", "bcd"], "bcd", DOCS, strict=False),
    Example("ELT", [3, "a", "b"], None, DOCS, strict=False),
    Example("ELT", [NO_INT, "a"], None, DOCS, strict=False),
    Example("ELT", [2, b"a", b"b"], b"b", DOCS, strict=False),
]


@corpus("example", EXAMPLES, 65)
def test_example(example: Example) -> None:
    example.check()


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(SignatureError, match=r"UPPER does not take \(INT\): it takes \(STRING\)"):
        call("UPPER", [Ref(INT, 0)])
    with pytest.raises(SignatureError, match="CAST other values to STRING"):
        call("||", [Ref(STRING, 0), Ref(INT, 1)])


@given(st.text(max_size=6), st.integers(1, 8), st.integers(0, 8))
def test_substring_is_a_slice(text: str, start: int, length: int) -> None:
    Example("SUBSTRING", [text, start, length], text[start - 1 : start - 1 + length], PYTHON).check()


@given(st.text(max_size=6))
def test_case_is_that_of_python(text: str) -> None:
    Example("UPPER", [text], text.upper(), PYTHON).check()
    Example("LOWER", [text], text.lower(), PYTHON).check()


@given(
    st.lists(st.one_of(st.none(), st.text("ab,;é", max_size=10)), max_size=8),
    st.sampled_from([",", ";", ",;", "a", "é"]),
    st.integers(0, 6),
)
def test_parts_of_a_column_are_those_of_its_rows(texts: list[str | None], separator: str, index: int) -> None:
    column = pa.array(["a", *texts], pa.string()).slice(1)
    split = call("SPLIT_INDEX", [Ref(STRING, 0), Literal(STRING, separator), Literal(INT, index)])
    parts = Evaluator([column], Surroundings(len(column))).column(split)
    assert parts.to_pylist() == [None if text is None else split_index(text, separator, index) for text in texts]
