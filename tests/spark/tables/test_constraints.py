"""What a table demands of the rows of an INSERT in batch mode."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spark.tables.plans import values

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.runtime.tables.constraints import LENGTH, NESTED, NOT_NULL
from millrace.spark.tables.execute import enforced, frame_of, write_all
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part

COLUMNS = (
    n.Field("k", t.BigIntType(False)),
    n.Field("c", t.CharType(3)),
    n.Field("v", t.VarCharType(3)),
    n.Field("b", t.BinaryType(3)),
    n.Field("w", t.VarBinaryType(3)),
)
FREE = {
    "k": t.BigIntType(),
    "c": t.string(),
    "v": t.string(),
    "b": t.VarBinaryType(t.MAX_LENGTH),
    "w": t.VarBinaryType(t.MAX_LENGTH),
}
FITS = (1, "abc", "ab", b"abc", b"ab")
WRONG = (2, "ä", "äbcd", b"a", b"abcd")
MISSING = (None, None, None, None, None)


def with_settings(context: Context, settings: dict[str, str]) -> Context:
    return replace(context, surroundings=replace(context.surroundings, configuration=settings))


def written(context: Context, rows: list[tuple[Any, ...]], settings: dict[str, str]) -> list[tuple[Any, ...]]:
    part = Part.of_frame(frame_of(values(FREE, *rows), context))
    frame = enforced(part, COLUMNS, with_settings(context, settings)).frame
    found = [tuple(bytes(each) if isinstance(each, bytearray) else each for each in row) for row in frame.collect()]
    return sorted(found, key=repr)


def test_rows_with_null_are_dropped(context: Context) -> None:
    assert written(context, [FITS, MISSING, WRONG], {NOT_NULL: "drop"}) == [FITS, WRONG]


def test_null_is_an_error(context: Context) -> None:
    with pytest.raises(Exception, match="column k is NOT NULL, but a row has NULL there: filter such rows"):
        written(context, [FITS, MISSING], {})


def test_lengths_are_cut_and_filled_up(context: Context) -> None:
    found = written(context, [FITS, WRONG], {LENGTH: "TRIM_PAD"})
    assert found == [FITS, (2, "ä  ", "äbc", b"a\0\0", b"abc")]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (1, r"column c is CHAR\(3\), but a row has 'ä' there"),
        (2, r"column v is VARCHAR\(3\), but a row has 'äbcd' there"),
        (3, r"column b is BINARY\(3\), but a row has X'61' there"),
        (4, r"column w is VARBINARY\(3\), but a row has X'61626364' there"),
    ],
    ids=["CHAR", "VARCHAR", "BINARY", "VARBINARY"],
)
def test_a_wrong_length_is_an_error(context: Context, place: int, message: str) -> None:
    row = tuple(WRONG[index] if index == place else each for index, each in enumerate(FITS))
    with pytest.raises(Exception, match=message):
        written(context, [row], {LENGTH: "ERROR"})


def test_what_demands_nothing_is_left_alone(context: Context) -> None:
    frame = Part.of_frame(frame_of(values(FREE, WRONG, MISSING), context))
    assert enforced(frame, COLUMNS[1:], with_settings(context, {})) is frame
    assert enforced(frame, (), with_settings(context, {LENGTH: "ERROR"})) is frame


INSIDE = (n.Field("k", t.BigIntType()), n.Field("a", t.ArrayType(t.CharType(2, False))))


def inside(context: Context, rows: list[tuple[Any, ...]], settings: dict[str, str]) -> list[tuple[Any, ...]]:
    free = {"k": t.BigIntType(), "a": t.ArrayType(t.string())}
    part = Part.of_frame(frame_of(values(free, *rows), context))
    found = enforced(part, INSIDE, with_settings(context, {NESTED: "ROWS_AND_COLLECTIONS", **settings})).frame.collect()
    return sorted(map(tuple, found), key=repr)


def test_values_inside_of_values(context: Context) -> None:
    rows = [(1, ["ab"]), (2, ["ab", None]), (3, None), (4, ["abc"])]
    assert inside(context, rows, {NOT_NULL: "DROP"}) == [rows[0], rows[2], rows[3]]
    with pytest.raises(Exception, match=r"column a\[1\] is NOT NULL"):
        inside(context, rows, {})
    with pytest.raises(Exception, match=r"column a\[0\] is CHAR\(2\)( NOT NULL)?, but a row has 'abc' there"):
        inside(context, rows, {NOT_NULL: "DROP", LENGTH: "ERROR"})


def test_rows_without_an_order_have_no_first_one_of_a_key(context: Context) -> None:
    sink = n.Sink(values({"k": t.BigIntType()}, (1,)), ("c", "d", "keyed"), None, on_conflict="NOTHING")
    with pytest.raises(NotImplementedError, match=r"ON CONFLICT DO NOTHING into c.d.keyed runs in streaming mode only"):
        write_all([sink], context)
