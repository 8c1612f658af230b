"""BIN, HEX, UNHEX."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, PYTHON, Example, of

from millrace.relational import types as t

BIG = t.BigIntType()

EXAMPLES = [
    Example("BIN", [4], "100", DOCS),
    Example("BIN", [12], "1100", DOCS),
    Example("BIN", [-1], "1" * 64, JAVA),
    Example("HEX", [20], "14", DOCS),
    Example("HEX", [100], "64", DOCS),
    Example("HEX", [of(BIG, -2)], "F" * 15 + "E", JAVA),
    Example("HEX", ["hello,world"], "68656C6C6F2C776F726C64", DOCS),
    Example("HEX", ["é"], "C3A9", PYTHON),
    Example("UNHEX", ["466C696E6B"], b"Flink", PYTHON),
    Example("UNHEX", ["1f2"], b"\x00\xf2", DOCS),
    Example("UNHEX", ["zz"], None, DOCS),
    Example("UNHEX", [""], b"", PYTHON),
]


@corpus("example", EXAMPLES, 12)
def test_example(example: Example) -> None:
    example.check()


@given(st.text())
def test_what_hex_writes_unhex_reads(text: str) -> None:
    (written,) = Example("HEX", [text]).run(Example("HEX", [text]).call([0]), [[text]])
    Example("UNHEX", [written], text.encode()).check()
