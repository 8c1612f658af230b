"""POSITION, LOCATE, INSTR, STARTSWITH, ENDSWITH, TRANSLATE."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, Example, null

from millrace.relational import types as t

NO_TEXT = null(t.string())

EXAMPLES = [
    Example("POSITION", ["lo", "hello"], 4, DOCS),
    Example("POSITION", ["x", "hello"], 0, DOCS),
    Example("POSITION", ["", "hello"], 1, SOURCE),
    Example("LOCATE", ["l", "hello"], 3, DOCS),
    Example("LOCATE", ["l", "hello", 4], 4, DOCS),
    Example("LOCATE", ["h", "hello", 2], 0, DOCS),
    Example("LOCATE", ["b", "a😀b"], 3, SOURCE),
    Example("INSTR", ["hello", "l"], 3, DOCS),
    Example("INSTR", ["hello", "x"], 0, DOCS),
    Example("INSTR", ["hello", NO_TEXT], None, DOCS),
    Example("INSTR", ["aaa", "a", 2], 2, SOURCE),
    Example("INSTR", ["Corporate Floor", "or", 3, 2], 14, SOURCE),
    Example("INSTR", ["Corporate Floor", "or", -3, 2], 2, SOURCE),
    Example("INSTR", ["abc", "a", 0, 1], 0, SOURCE),
    Example("INSTR", ["abc", "a", 1, 0], source=SOURCE, raises="INSTR counts occurrences from 1, not 0"),
    Example("STARTSWITH", ["hello", "he"], True, DOCS),
    Example("STARTSWITH", ["hello", ""], True, DOCS),
    Example("STARTSWITH", [b"\x01\x02", b"\x02"], False, DOCS),
    Example("ENDSWITH", ["hello", "lo"], True, DOCS),
    Example("ENDSWITH", ["hello", ""], True, DOCS),
    Example("ENDSWITH", [b"\x01\x02", b"\x02"], True, DOCS),
    Example("TRANSLATE", ["hello", "lo", "01"], "he001", DOCS, strict=False),
    Example("TRANSLATE", ["hello", "lo", "0"], "he00", DOCS, strict=False),
    Example("TRANSLATE3", ["hello", "ll", "xy"], "hexxo", SOURCE, strict=False),
    Example("TRANSLATE", ["hello", "", "xy"], "hello", SOURCE, strict=False),
    Example("TRANSLATE", ["hello", null(t.string()), "xy"], "hello", SOURCE, strict=False),
    Example("TRANSLATE", ["hello", "l", null(t.string())], "heo", SOURCE, strict=False),
    Example("TRANSLATE", [null(t.string()), "l", "x"], None, SOURCE, strict=False),
]


@corpus("example", EXAMPLES, 28)
def test_example(example: Example) -> None:
    example.check()


@given(st.text("ab", max_size=6), st.text("ab", min_size=1, max_size=2))
def test_positions_are_those_of_python_plus_one(text: str, sought: str) -> None:
    Example("INSTR", [text, sought], text.find(sought) + 1, PYTHON).check()
    Example("INSTR", [text, sought, -1], text.rfind(sought) + 1, PYTHON).check()
