"""What a sink's table demands of its rows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.tables.tabular import check, harness, schema

from millrace.relational.types import (
    ArrayType,
    BigIntType,
    BinaryType,
    CharType,
    MapType,
    RowField,
    RowType,
    VarBinaryType,
    VarCharType,
    string,
)
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.constraints import EnforceConstraints
from millrace.testing import Element

NOT_NULL = schema(BigIntType(False), string())
SIZED = schema(CharType(3), VarCharType(3), BinaryType(3), VarBinaryType(3))
ROWS: list[tuple[Any, ...]] = [
    ("ab", "ab", b"ab", b"ab"),
    ("äbcd", "äbcd", b"abcd", b"abcd"),
    (None, None, None, None),
]


def test_rows_with_null_are_dropped() -> None:
    script = [Element((kind, *row)) for kind, row in [("+I", (1, None)), ("+U", (None, "x")), ("-D", (3, "y"))]]
    found = check(EnforceConstraints(columns=NOT_NULL, not_null="DROP"), (NOT_NULL,), script)
    assert found == [("+I", 1, None), ("-D", 3, "y")]


def test_null_is_an_error() -> None:
    text = "column f0 is NOT NULL, but a row has NULL there"
    with harness(EnforceConstraints(columns=NOT_NULL), NOT_NULL) as run, pytest.raises(OperatorError, match=text):
        run.process_element(("+I", None, "x"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("IGNORE", ROWS),
        (
            "TRIM_PAD",
            [("ab ", "ab", b"ab\0", b"ab"), ("äbc", "äbc", b"abc", b"abc"), (None, None, None, None)],
        ),
    ],
)
def test_lengths(mode: str, expected: list[Any]) -> None:
    script = [Element(("+I", *row)) for row in ROWS]
    found = check(EnforceConstraints(columns=SIZED, length=mode), (SIZED,), script)
    assert found == [("+I", *row) for row in expected]


def test_a_wrong_length_is_an_error() -> None:
    with harness(EnforceConstraints(columns=SIZED, length="ERROR"), SIZED) as run:
        run.process_element(("+I", "abc", "ab", b"abc", b""))
        with pytest.raises(OperatorError, match=r"column f1 is VARCHAR\(3\), but a row has 'abcd' there"):
            run.process_element(("+I", "abc", "abcd", b"abc", b""))


def test_modes() -> None:
    with pytest.raises(ValueError, match="ERROR or DROP, not KEEP"):
        EnforceConstraints(columns=SIZED, not_null="KEEP")
    with pytest.raises(ValueError, match="IGNORE, TRIM_PAD or ERROR, not CUT"):
        EnforceConstraints(columns=SIZED, length="CUT")


def test_whether_it_is_needed() -> None:
    assert EnforceConstraints(columns=NOT_NULL).needed
    assert not EnforceConstraints(columns=SIZED).needed
    assert EnforceConstraints(columns=SIZED, length="ERROR").needed


INNER = RowType([RowField("n", BigIntType(False)), RowField("c", CharType(2))])
NESTED = schema(
    INNER,
    ArrayType(ArrayType(BigIntType(False))),
    MapType(VarCharType(2), RowType([RowField("b", BinaryType(2, False))])),
)
GOOD: tuple[Any, ...] = ((1, "ab"), [[1], None, []], {"a": (b"ab",)})


@pytest.mark.parametrize(
    ("row", "place", "nested"),
    [
        (((None, "ab"), None, None), "f0.n", "ROWS"),
        ((None, [[1], [2, None]], None), r"f1\[1\]\[1\]", "ROWS_AND_COLLECTIONS"),
        ((None, None, {"a": (None,)}), r"f2\[value\].b", "ROWS_AND_COLLECTIONS"),
    ],
)
def test_null_inside_of_values(row: tuple[Any, ...], place: str, nested: str) -> None:
    rows = [GOOD, row, (None, None, None)]
    script = [Element(("+I", *each)) for each in rows]
    untouched = check(EnforceConstraints(columns=NESTED, not_null="DROP"), (NESTED,), script)
    assert len(untouched) == len(rows)
    dropped = check(EnforceConstraints(columns=NESTED, not_null="DROP", nested=nested), (NESTED,), script)
    assert [each[1:] for each in dropped] == [each[1:] for each in (untouched[0], untouched[2])]
    with harness(EnforceConstraints(columns=NESTED, nested=nested), NESTED) as run:
        run.process_element(("+I", *GOOD))
        with pytest.raises(OperatorError, match=f"column {place} is NOT NULL, but a row has NULL there"):
            run.process_element(("+I", *row))


@pytest.mark.parametrize(
    ("row", "place"),
    [
        (((1, "a"), None, None), r"f0.c is CHAR\(2\)"),
        ((None, None, {"abc": (b"ab",)}), r"f2\[key\] is VARCHAR\(2\)"),
        ((None, None, {"a": (b"a",)}), r"f2\[value\].b is BINARY\(2\)"),
    ],
)
def test_a_wrong_length_inside_of_values(row: tuple[Any, ...], place: str) -> None:
    config = EnforceConstraints(columns=NESTED, length="ERROR", nested="ROWS_AND_COLLECTIONS")
    with harness(config, NESTED) as run:
        run.process_element(("+I", *GOOD))
        with pytest.raises(OperatorError, match=f"column {place}.*, but a row has .* there"):
            run.process_element(("+I", *row))


def test_values_inside_of_rows_are_cut_and_filled_up() -> None:
    columns = schema(INNER)
    script = [Element(("+I", each)) for each in [(1, "a"), (2, "abc"), None]]
    found = check(EnforceConstraints(columns=columns, length="TRIM_PAD", nested="ROWS"), (columns,), script)
    assert [None if row is None else tuple(row.values()) for _, row in found] == [(1, "a "), (2, "ab"), None]


def test_values_inside_of_collections_are_not_cut() -> None:
    with pytest.raises(ValueError, match=r"column f2 is MAP.*: values inside ARRAY and MAP are not cut or filled up"):
        EnforceConstraints(columns=NESTED, length="TRIM_PAD", nested="ROWS_AND_COLLECTIONS")
