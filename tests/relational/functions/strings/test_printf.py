"""PRINTF."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, Example, null

from millrace.relational import types as t

NO_TEXT = null(t.string())

FORMATS = [
    ("Hello %s", ["Flink"], "Hello Flink"),
    ("%s and %s", ["a", 1], "a and 1"),
    ("%2$s %1$s %<s", ["a", "b"], "b a a"),
    ("%d", [42], "42"),
    ("%5d|%-5d|%05d", [42, 42, 42], "   42|42   |00042"),
    ("%,d", [1234567], "1,234,567"),
    ("%+d %(d", [5, -5], "+5 (5)"),
    ("%x %X %o", [255, 255, 8], "ff FF 10"),
    ("%x", [-1], "ffffffff"),
    ("%08.2f", [3.14159], "00003.14"),
    ("%f", [1.5], "1.500000"),
    ("%.1f", [0.25], "0.3"),
    ("%,.2f", [Decimal("1234.5")], "1,234.50"),
    ("%.2e", [12345.678], "1.23e+04"),
    ("%10s|%-10s|%.2s", ["ab", "ab", "abc"], "        ab|ab        |ab"),
    ("%S", ["abc"], "ABC"),
    ("%b %c", [True, "x"], None),
    ("%b %b", [True, NO_TEXT], "true false"),
    ("%s", [True], "true"),
    ("100%% %n", [], "100% \n"),
    ("%d", [NO_TEXT], "null"),
    ("%s", [NO_TEXT], "null"),
    ("%s", [dt.date(2020, 1, 2)], "2020-01-02"),
    ("%d", ["a"], None),
    ("%d", [], None),
    ("%", [], None),
    ("%.2d", [1], None),
]
EXAMPLES = [
    *(Example("PRINTF", [pattern, *values], gives, JAVA, strict=False) for pattern, values, gives in FORMATS),
    Example("PRINTF", [NO_TEXT, 1], None, DOCS, strict=False),
]


@corpus("example", EXAMPLES, 28)
def test_example(example: Example) -> None:
    example.check()
