"""LPAD, RPAD and TRIM."""

from __future__ import annotations

from typing import Any

from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, SOURCE, Example, null

from millrace.relational import types as t

NO_TEXT = null(t.string())


def trim(side: str, gives: str | None, *args: Any) -> Example:
    return Example("TRIM", args, gives, DOCS, {"side": side})


EXAMPLES = [
    Example("LPAD", ["hi", 4, "??"], "??hi", DOCS, constant=(1, 2)),
    Example("LPAD", ["hi", 1, "??"], "h", DOCS),
    Example("LPAD", ["hi", 5, "ab"], "abahi", SOURCE, constant=(1, 2)),
    Example("LPAD", ["hi", -1, "?"], None, SOURCE),
    Example("LPAD", ["hi", 4, ""], None, SOURCE),
    Example("LPAD", ["hi", 0, "?"], "", SOURCE, constant=(1, 2)),
    Example("RPAD", ["hi", 4, "??"], "hi??", DOCS, constant=(1, 2)),
    Example("RPAD", ["hi", 1, "??"], "h", DOCS),
    Example("RPAD", ["hi", 5, "ab"], "hiaba", SOURCE),
    Example("RPAD", ["hi", 4, ""], None, SOURCE),
    Example("TRIM", ["  a b  "], "a b", DOCS),
    Example("TRIM", ["\ta\n"], "\ta\n", SOURCE),
    trim("BOTH", "a", "xxaxx", "x"),
    trim("LEADING", "axx", "xxaxx", "x"),
    trim("TRAILING", "xxa", "xxaxx", "x"),
    trim("BOTH", "b", "xyxbyx", "xy"),
    trim("LEADING", "a  ", "  a  "),
    trim("BOTH", None, "a", NO_TEXT),
    Example("LTRIM", [" This is a test String."], "This is a test String.", DOCS),
    Example("LTRIM", ["xyab", "yx"], "ab", DOCS),
    Example("LTRIM", ["ab", ""], "ab", SOURCE),
    Example("RTRIM", ["This is a test String. "], "This is a test String.", DOCS),
    Example("RTRIM", ["abxy", "yx"], "ab", DOCS),
    Example("RTRIM", ["ab", NO_TEXT], None, DOCS),
    Example("BTRIM", ["  ab "], "ab", DOCS),
    Example("BTRIM", ["xabx", "x"], "ab", DOCS),
    Example("BTRIM", ["xx", "x"], "", DOCS),
]


@corpus("example", EXAMPLES, 27)
def test_example(example: Example) -> None:
    example.check()
