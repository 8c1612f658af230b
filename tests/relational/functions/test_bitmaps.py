from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, Example, of

from millrace.relational import types as t
from millrace.relational.functions.bitmaps import bitmap_class
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

INTS = t.ArrayType(t.IntType())
LEAST = -(2**31)


def _bitmap(*numbers: int) -> bytes:
    found = BitMap([number & 0xFFFFFFFF for number in numbers])
    found.run_optimize()
    return bytes(found.serialize())


def _of(*numbers: int) -> object:
    return of(t.BitmapType(), _bitmap(*numbers))


EXAMPLES = [
    Example("BITMAP_BUILD", [of(INTS, [1, 2, 3, -4])], _of(1, 2, 3, -4), SOURCE),
    Example("BITMAP_BUILD", [of(INTS, [1, None, 1])], _of(1), SOURCE),
    Example("BITMAP_BUILD", [of(INTS, [])], _of(), SOURCE),
    Example("BITMAP_CARDINALITY", [_of()], of(t.BigIntType(), 0), SOURCE),
    Example("BITMAP_CARDINALITY", [_of(-1)], 1, SOURCE),
    Example("BITMAP_CARDINALITY", [_of(1, 2, 3, -4)], 4, SOURCE),
    Example("BITMAP_FROM_BYTES", [_bitmap(1, 2, 3, -4)], _of(1, 2, 3, -4), SOURCE),
    Example("BITMAP_FROM_BYTES", [_bitmap()], _of(), SOURCE),
    Example("BITMAP_FROM_BYTES", [b"invalid"], None, SOURCE, raises="7 bytes that are no Roaring bitmap"),
    Example("BITMAP_FROM_BYTES", [b""], None, SOURCE, raises="0 bytes that are no Roaring bitmap"),
    Example("BITMAP_TO_ARRAY", [_of(-1, 1, 3, 2, LEAST)], of(INTS, [1, 2, 3, LEAST, -1]), SOURCE),
    Example("BITMAP_TO_ARRAY", [_of()], [], SOURCE),
    Example("BITMAP_TO_ARRAY", [_of(-1)], [-1], SOURCE),
    Example("BITMAP_TO_BYTES", [_of(-1)], of(t.VarBinaryType(t.MAX_LENGTH), _bitmap(-1)), SOURCE),
    Example("BITMAP_TO_BYTES", [_of()], _bitmap(), SOURCE),
    Example("BITMAP_TO_BYTES", [_of(*range(1000))], _bitmap(*range(1000)), SOURCE),
    Example("BITMAP_TO_STRING", [_of()], of(t.string(), "{}"), SOURCE),
    Example("BITMAP_TO_STRING", [_of(-1)], "{4294967295}", SOURCE),
    Example("BITMAP_TO_STRING", [_of(LEAST, -1, 1, 3, 2)], "{1,2,3,2147483648,4294967295}", SOURCE),
    *(
        Example(name, [_of(*one), _of(*other)], _of(*gives), DOCS)
        for name, one, other, gives in [
            ("BITMAP_AND", (1, 2), (2, 3), (2,)),
            ("BITMAP_AND", (1,), (), ()),
            ("BITMAP_AND", (-1, 5), (-1,), (-1,)),
            ("BITMAP_ANDNOT", (1, 2), (2, 3), (1,)),
            ("BITMAP_ANDNOT", (1, 2), (), (1, 2)),
            ("BITMAP_ANDNOT", (), (1,), ()),
            ("BITMAP_OR", (1, 2), (2, 3), (1, 2, 3)),
            ("BITMAP_OR", (), (-1,), (-1,)),
            ("BITMAP_OR", (1,), (1,), (1,)),
            ("BITMAP_XOR", (1, 2), (2, 3), (1, 3)),
            ("BITMAP_XOR", (1,), (1,), ()),
            ("BITMAP_XOR", (-1,), (1,), (1, -1)),
        ]
    ),
]


@corpus("example", EXAMPLES, 31)
def test_example(example: Example) -> None:
    example.check()


_NUMBERS = st.sets(st.integers(-5, 5) | st.integers(LEAST, 2**31 - 1))


@given(_NUMBERS, _NUMBERS)
def test_bitmaps_are_sets(one: set[int], other: set[int]) -> None:
    expected = {"AND": one & other, "ANDNOT": one - other, "OR": one | other, "XOR": one ^ other}
    for name, gives in expected.items():
        example = Example(f"BITMAP_{name}", [_of(), _of()])
        found = example.run(example.call([0, 1]), [[_bitmap(*one), _bitmap(*other)]])
        back = Example("BITMAP_TO_ARRAY", [_of()])
        [numbers] = back.run(back.call([0]), [found])
        assert set(numbers) == gives
        assert numbers == sorted(gives, key=lambda number: number & 0xFFFFFFFF)


def test_a_long_text_is_cut() -> None:
    many = BitMap(range(200_000))
    example = Example("BITMAP_TO_STRING", [_of()], source=PYTHON)
    [text] = example.run(example.call([0]), [[many.serialize()]])
    assert text.startswith("{0,1,2,") and text.endswith(",...}") and len(text) <= 1_000_010


def test_other_arrays_are_refused() -> None:
    with pytest.raises(SignatureError, match="ARRAY<INT>"):
        call("BITMAP_BUILD", [Literal(t.ArrayType(t.BigIntType()), [1])])


def test_without_pyroaring_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyroaring", None)
    with pytest.raises(ImportError, match=r"pip install 'millrace-streaming\[bitmap\]'"):
        bitmap_class()
